//! E6: completions that are not periodic, and what a fixed period does about them.

mod summary;

use serde_json::{Value, json};

use crate::prelude::*;
use crate::single_queue::saturated;
use summary::LEAST_FIXED;
use taut_sim::error::TestbedError;
use taut_sim::lane::{LaneConfig, Observed, Reap, Rule, Source, observe};
use taut_sim::least::least_above;
use taut_sim::nic::{InterruptRule, RareGap};

settings! {
    "aperiodic" {
        /// Link rate.
        rate: Rate => allowed::rate,
        /// Size of every packet.
        size: Size => allowed::size,
        /// Descriptors of the ring.
        ring: u32 => allowed::ring,
        /// From interrupt to interrupt, as a rule.
        cadence: Time where allowed::up_to(*duration),
        /// One gap in so many is longer or shorter.
        odd_gap_one_in: u32 => allowed::within(1..=u32::MAX),
        /// The rare long gap.
        long_gap: Time where allowed::up_to(*duration),
        /// The occasional short interval.
        short_gap: Time where allowed::up_to(*duration),
        /// From interrupt to interrupt of the card whose completions are reaped in rounds.
        round_cadence: Time where allowed::up_to(*duration),
        /// Most packets of a round.
        round_budget: u32 => allowed::within(1..=u32::MAX),
        /// From a round to the next.
        round_gap: Time where allowed::up_to(*duration),
        /// From burst to burst, and packets of a burst, of the light load; then the same load in
        /// smaller bursts, and packet by packet.
        burst_gap: Time where allowed::within(Time(1_000)..=*duration),
        /// Packets of the largest burst.
        burst_packets: u32 => allowed::within(1..=1 << 16),
        /// The periods at which the filter hands completions on, each a row.
        periods: Vec<Time> where allowed::each(0..=100, allowed::up_to(*duration)),
        /// How often to ask what a new packet of high priority would wait.
        sample: Time where allowed::within(Time(1_000)..=*duration),
        /// What is not measured at the start: more than two hold times.
        warm_up: Time => allowed::duration,
        /// What is measured.
        duration: Time => allowed::duration,
    }
}

/// A fixed limit that carries this share of what no limit carries is enough.
const ENOUGH: f64 = 0.999;

/// Longer than a ring takes to fill and to drain once.
const FIXED_WARM_UP_NS: u64 = 50_000_000;

/// Its name, and the lane.
pub type Pattern = (&'static str, LaneConfig);

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
) -> Result<u32, TestbedError> {
    // A fixed limit has nothing to settle: the first ring is all there is to warm up.
    let measure_from_ns = lane.measure_from_ns.min(FIXED_WARM_UP_NS);
    let quick = LaneConfig {
        measure_from_ns,
        end_ns: lane.end_ns - lane.measure_from_ns + measure_from_ns,
        sample_ns: 0,
        ..lane.clone()
    };
    let is_enough = |bytes| {
        let seen = observe(&quick, &Rule::bytes(bytes))?;
        Ok(seen.wire.packets as f64 >= ENOUGH * packets as f64)
    };
    least_above(0, most_bytes, step_bytes, is_enough)
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

impl Scenario for Settings {
    const ABOUT: &'static str =
        "completions that are not periodic, and what handing them on at a fixed period does (E6)";
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

    type Case = Pattern;
    type Outcome = Found;

    fn cases(&self, seed: u64) -> Result<Vec<Pattern>, ScenarioError> {
        Ok(self.patterns(seed))
    }

    fn name(&self, (pattern, _): &Pattern) -> String {
        (*pattern).to_owned()
    }

    fn run(&self, (pattern, lane): &Pattern, _seed: u64) -> Result<Found, ScenarioError> {
        let off = observe(lane, &Rule::off())?;
        let most_bytes = off.in_flight_bytes.max.min(u64::from(u32::MAX / 4)) as u32;
        // To 4 bytes: less than one object decides.
        let least = least_fixed(lane, off.wire.packets, most_bytes, 4)?;
        let mut rules = self.rules();
        rules.push((LEAST_FIXED.to_owned(), Rule::bytes(least)));
        let mut found = Found::default();
        for (name, rule) in &rules {
            let seen = observe(lane, rule)?;
            found.rows.push(row(pattern, (name, rule), &seen, &off));
        }
        Ok(found)
    }

    fn found(&self, ran: &[(&Pattern, &Found)]) -> Found {
        Found::of(ran)
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let of_pattern = |(pattern, lane): Pattern| {
            let row = move |(name, rule): (String, Rule)| {
                TraceRow::lane(format!("{pattern}: {name}"), lane.clone(), rule)
            };
            self.rules().into_iter().map(row)
        };
        self.patterns(seed)
            .into_iter()
            .flat_map(of_pattern)
            .collect()
    }
}
