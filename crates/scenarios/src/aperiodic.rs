//! E6: completions that are not periodic, and what a fixed period does about them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::single_queue::{
    check_cadence, check_duration, check_rate, check_ring, check_size, saturated,
};
use super::tracing::TraceRow;
use crate::results::Summary;
use taut_sim::lane::{LaneConfig, LaneError, Observed, Reap, Rule, Source, observe};
use taut_sim::nic::{InterruptRule, RareGap};

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `aperiodic`.
    pub scenario: String,
    /// Link rate.
    pub rate: Rate,
    /// Size of every packet.
    pub size: Size,
    /// Descriptors of the ring.
    pub ring: u32,
    /// From interrupt to interrupt, as a rule.
    pub cadence: Time,
    /// One gap in so many is longer or shorter.
    pub odd_gap_one_in: u32,
    /// The rare long gap.
    pub long_gap: Time,
    /// The occasional short interval.
    pub short_gap: Time,
    /// From interrupt to interrupt of the card whose completions are reaped in rounds.
    pub round_cadence: Time,
    /// Most packets of a round.
    pub round_budget: u32,
    /// From a round to the next.
    pub round_gap: Time,
    /// From burst to burst, and packets of a burst, of the light load; then the same load in
    /// smaller bursts, and packet by packet.
    pub burst_gap: Time,
    /// Packets of the largest burst.
    pub burst_packets: u32,
    /// The periods at which the filter hands completions on, each a row.
    pub periods: Vec<Time>,
    /// How often to ask what a new packet of high priority would wait.
    pub sample: Time,
    /// What is not measured at the start: more than two hold times.
    pub warm_up: Time,
    /// What is measured.
    pub duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            rate: Rate(1_000_000_000),
            size: Size(1_514),
            ring: 1_024,
            cadence: Time::us(100),
            odd_gap_one_in: 100,
            long_gap: Time::ms(1),
            short_gap: Time::us(10),
            round_cadence: Time::ms(1),
            round_budget: 32,
            round_gap: Time::us(20),
            burst_gap: Time::ms(2),
            burst_packets: 40,
            periods: vec![Time::us(100), Time::us(200), Time::us(500), Time::ms(1)],
            sample: Time::us(50),
            warm_up: Time::ms(3_000),
            duration: Time::ms(2_000),
        }
    }
}

/// The yardstick's name among the rules.
const LEAST_FIXED: &str = "least fixed";

/// A fixed limit that carries this share of what no limit carries is enough.
const ENOUGH: f64 = 0.999;

/// Longer than a ring takes to fill and to drain once.
const FIXED_WARM_UP_NS: u64 = 50_000_000;

/// Its name, and the lane.
type Pattern = (&'static str, LaneConfig);

impl Settings {
    fn patterns(&self, seed: u64) -> Vec<Pattern> {
        let steady = InterruptRule::every(self.cadence.0);
        let odd = |gap: Time| InterruptRule {
            rare_gap: Some(RareGap {
                one_in: self.odd_gap_one_in,
                gap_ns: gap.0,
            }),
            ..steady
        };
        let lane = |interrupt| LaneConfig {
            measure_from_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + self.duration.0,
            sample_ns: self.sample.0,
            ..saturated(self.rate, self.ring, self.size.0 as u32, interrupt, seed)
        };
        let rounds = LaneConfig {
            reap: Reap {
                budget_packets: self.round_budget,
                round_ns: self.round_gap.0,
            },
            ..lane(InterruptRule::every(self.round_cadence.0))
        };
        let bursts = |divided_by: u32| LaneConfig {
            source: Source::Bursts {
                packets: (self.burst_packets / divided_by).max(1),
                every_ns: (self.burst_gap.0 / u64::from(divided_by)).max(1),
                jitter_ns: 0,
            },
            // Nothing of a burst is ever dropped, so that every rule carries the same.
            backlog_packets: u32::MAX,
            ..lane(steady)
        };
        vec![
            ("steady", lane(steady)),
            ("small last round", rounds),
            ("rare long gaps", lane(odd(self.long_gap))),
            ("occasional short intervals", lane(odd(self.short_gap))),
            ("light load, bursts", bursts(1)),
            ("the same, smaller bursts", bursts(5)),
            ("the same, packet by packet", bursts(self.burst_packets)),
        ]
    }

    /// Without a limit, with Linux's rule, with those that size by need, and with each period.
    fn rules(&self) -> Vec<(String, Rule)> {
        let filtered = self
            .periods
            .iter()
            .map(|period| (format!("dql every {period}"), Rule::dql_every(period.0)));
        let named = [Rule::off(), Rule::dql(), Rule::need(), Rule::taut()];
        let named = named.into_iter().map(|rule| (rule.to_string(), rule));
        named.chain(filtered).collect()
    }
}

/// The least fixed limit that carries [`ENOUGH`] of `packets`, to `step_bytes`.
fn least_fixed(
    lane: &LaneConfig,
    packets: u64,
    most_bytes: u32,
    step_bytes: u32,
) -> Result<u32, LaneError> {
    // A fixed limit has nothing to settle: the first ring is all there is to warm up.
    let measure_from_ns = lane.measure_from_ns.min(FIXED_WARM_UP_NS);
    let quick = LaneConfig {
        measure_from_ns,
        end_ns: lane.end_ns - lane.measure_from_ns + measure_from_ns,
        sample_ns: 0,
        ..lane.clone()
    };
    let (mut too_low, mut enough) = (0, most_bytes);
    while enough - too_low > step_bytes {
        let middle = too_low + (enough - too_low) / 2;
        let seen = observe(&quick, &Rule::bytes(middle))?;
        if seen.wire.packets as f64 >= ENOUGH * packets as f64 {
            enough = middle;
        } else {
            too_low = middle;
        }
    }
    Ok(enough)
}

/// `name` is that of the rule.
fn row(pattern: &str, (name, rule): (&str, &Rule), seen: &Observed, off: &Observed) -> Value {
    json!({
        "pattern": pattern,
        "rule": name,
        "limit_bytes": (!rule.limit.is_off()).then_some(seen.limit_bytes),
        "in_flight_mean_bytes": seen.in_flight_mean_bytes,
        "in_flight_p99_bytes": seen.in_flight_p99_bytes,
        "utilisation": seen.utilisation,
        "of_off": seen.wire.packets as f64 / off.wire.packets.max(1) as f64,
        "urgent_delay_mean_us": seen.urgent_delay_ns.mean() / 1e3,
        "urgent_delay_p99_us": seen.urgent_delay_ns.value_at_quantile(0.99) as f64 / 1e3,
        "starved_rounds": seen.starved,
    })
}

/// Each rule over all patterns, against the least fixed limit of each.
fn summary(rows: &[Value]) -> Option<Summary> {
    let of_pattern = |pattern: &Value, rule: &str| {
        rows.iter()
            .find(|row| row["pattern"] == *pattern && row["rule"] == rule)
    };
    let first = rows.first()?["pattern"].clone();
    let rules = rows.iter().take_while(|row| row["pattern"] == first);
    let summary = rules.map(|of_first| {
        let rule = of_first["rule"].as_str().unwrap_or_default();
        let of_rule: Vec<&Value> = rows.iter().filter(|row| row["rule"] == rule).collect();
        let ratio = |row: &&&Value| {
            let least = of_pattern(&row["pattern"], LEAST_FIXED)?;
            let least_bytes = least["in_flight_mean_bytes"].as_f64()?;
            Some(row["in_flight_mean_bytes"].as_f64()? / least_bytes.max(1.0))
        };
        let ratios: Vec<f64> = of_rule.iter().filter_map(|row| ratio(&row)).collect();
        let all = |key: &str| -> Vec<f64> {
            of_rule.iter().filter_map(|row| row[key].as_f64()).collect()
        };
        let most = |values: &[f64]| values.iter().copied().reduce(f64::max);
        json!({
            "rule": rule,
            "of_least_fixed_best": ratios.iter().copied().reduce(f64::min),
            "of_least_fixed_worst": most(&ratios),
            "of_off_worst": all("of_off").into_iter().reduce(f64::min),
            "urgent_delay_p99_us_worst": most(&all("urgent_delay_p99_us")),
        })
    });
    Some(Summary {
        title: "Over all patterns (of_least_fixed: bytes in flight over those of the least fixed \
                limit)",
        rows: summary.collect(),
    })
}

impl Scenario for Settings {
    const NAME: &'static str = "aperiodic";
    const ABOUT: &'static str =
        "completions that are not periodic, and what handing them on at a fixed period does (E6)";
    const HAS_FIGURES: bool = false;
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        (
            "rule",
            "least fixed is the least fixed limit that carries 99.9 % of what off carries, found \
             afterwards; dql every T is Linux's rule that hears of completions once in T",
        ),
        ("limit_bytes", "the limit at the end"),
        ("in_flight", "bytes queued and not yet reported done"),
        (
            "utilisation",
            "share of the time with something to send in which the wire was sending",
        ),
        (
            "of_off",
            "packets carried, over those carried without a limit",
        ),
        ("urgent_delay", "what a packet of high priority would wait"),
        (
            "starved_rounds",
            "rounds of completions after which nothing was left in flight",
        ),
    ];

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary(rows)
    }

    fn validate(&self) -> Result<(), String> {
        check_rate("rate", self.rate)?;
        check_size("size", self.size)?;
        check_ring("ring", self.ring)?;
        check_duration("warm_up", self.warm_up)?;
        check_duration("duration", self.duration)?;
        check("odd_gap_one_in", self.odd_gap_one_in, 1, u32::MAX)?;
        check("round_budget", self.round_budget, 1, u32::MAX)?;
        check("burst_packets", self.burst_packets, 1, 1 << 16)?;
        let (least, most) = (Time(1_000), self.duration);
        check("burst_gap", self.burst_gap, least, most)?;
        check("sample", self.sample, least, most)?;
        for (key, time) in [
            ("cadence", self.cadence),
            ("long_gap", self.long_gap),
            ("short_gap", self.short_gap),
            ("round_cadence", self.round_cadence),
            ("round_gap", self.round_gap),
        ] {
            check_cadence(key, time, self.duration)?;
        }
        check("periods, their number", self.periods.len(), 0, 100)?;
        let mut periods = self.periods.iter();
        periods.try_for_each(|&period| check_cadence("periods", period, self.duration))
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let mut rows = Vec::new();
        for (pattern, lane) in self.patterns(seed) {
            for (rule_name, rule) in self.rules() {
                let name = format!("{pattern}: {rule_name}");
                rows.push(TraceRow::lane(name, lane.clone(), rule));
            }
        }
        rows
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let (patterns, rules) = (self.patterns(seed), self.rules());
        let parts = (patterns.len() * (rules.len() + 1)) as u64;
        let mut done = 0;
        for (pattern, lane) in &patterns {
            let off = observe(lane, &Rule::off())?;
            for (name, rule) in &rules {
                progress(pattern, done, parts);
                done += 1;
                let seen = observe(lane, rule)?;
                found.row(row(pattern, (name, rule), &seen, &off));
            }
            progress(pattern, done, parts);
            done += 1;
            // To 4 bytes: less than one object decides.
            let most_bytes = off.in_flight_bytes.max.min(u64::from(u32::MAX / 4)) as u32;
            let least = least_fixed(lane, off.wire.packets, most_bytes, 4)?;
            let rule = Rule::bytes(least);
            let seen = observe(lane, &rule)?;
            let named = (LEAST_FIXED, &rule);
            found.row(row(pattern, named, &seen, &off));
        }
        progress("done", parts, parts);
        Ok(())
    }
}
