//! E9: the link changes its speed while running, and nothing is told to the limit.

use serde_json::{Value, json};

use crate::prelude::*;
use crate::single_queue::{law_bytes, saturated, series};
use taut_sim::lane::{LaneConfig, Observed, Rule, observe};
use taut_sim::nic::{InterruptRule, WireCounters};
use taut_sim::settle::{limit_at, settle_once};

/// The rules that are compared: each has the same change of the rate to follow.
fn rules() -> [Rule; 2] {
    [Rule::dql(), Rule::taut()]
}

settings! {
    "rate-change" {
        /// Link rate at first and at last.
        rate: Rate => allowed::rate,
        /// Link rate in between.
        middle_rate: Rate => allowed::rate,
        /// How long each of the three holds.
        phase: Time => allowed::duration,
        /// Size of every packet.
        size: Size => allowed::size,
        /// Descriptors of the ring.
        ring: u32 => allowed::ring,
        /// From interrupt to interrupt.
        cadence: Time where allowed::up_to(*phase),
    }
}

/// One part of the run with one rate.
struct Phase {
    rate: Rate,
    starts_ns: u64,
    ends_ns: u64,
    /// Link time that the wire carried in it, in bytes.
    time_bytes: u64,
}

impl Phase {
    /// From its start until the limit had settled, in ns; 0 if it had nothing to settle.
    fn settling_ns(&self, seen: &Observed) -> u64 {
        let settled = settle_once(&seen.course.limit_bytes, self.starts_ns, self.ends_ns);
        settled.up_ns.or(settled.down_ns).unwrap_or(0)
    }

    /// The limit just before, and at the end.
    fn limits(&self, seen: &Observed) -> (f64, f64) {
        let before_ns = self.starts_ns.saturating_sub(1);
        let limits =
            [before_ns, self.ends_ns].map(|at_ns| limit_at(&seen.course.limit_bytes, at_ns));
        (limits[0].into(), limits[1].into())
    }

    /// What was in flight above `most_bytes`, times how long, in bytes times seconds.
    fn excess_byte_s(&self, seen: &Observed, most_bytes: f64) -> f64 {
        let step_ns = seen.course.step_ns;
        let first = (self.starts_ns / step_ns) as usize;
        let last = (self.ends_ns / step_ns) as usize;
        let steps = seen.course.in_flight.iter().take(last).skip(first);
        let most_byte_ns = most_bytes * step_ns as f64;
        steps
            .map(|step| (step.byte_ns as f64 - most_byte_ns).max(0.0) / 1e9)
            .sum()
    }

    fn idle_ns(&self) -> f64 {
        let busy_ns = self.time_bytes as f64 * 8e9 / self.rate.0 as f64;
        ((self.ends_ns - self.starts_ns) as f64 - busy_ns).max(0.0)
    }
}

impl Settings {
    fn lane(&self, seed: u64) -> LaneConfig {
        let interrupt = InterruptRule::every(self.cadence.0);
        LaneConfig {
            rate_changes: vec![
                (self.phase.0, self.middle_rate.0),
                (2 * self.phase.0, self.rate.0),
            ],
            end_ns: 3 * self.phase.0,
            ..saturated(self.rate, self.ring, self.size.0 as u32, interrupt, seed)
        }
    }

    /// The phases of what was seen under `rule`.
    fn rows(&self, rule: &Rule, seen: &Observed, lane: &LaneConfig) -> Vec<Value> {
        let rates = [self.rate, self.middle_rate, self.rate];
        let phases = rates.into_iter().zip(seen.marks.windows(2));
        let row = |(rate, marks): (Rate, &[(u64, WireCounters)])| {
            let phase = Phase {
                rate,
                starts_ns: marks[0].0,
                ends_ns: marks[1].0,
                time_bytes: marks[1].1.time_bytes - marks[0].1.time_bytes,
            };
            self.row(rule, &phase, seen, lane)
        };
        phases.map(row).collect()
    }

    fn row(&self, rule: &Rule, phase: &Phase, seen: &Observed, lane: &LaneConfig) -> Value {
        let mut at_rate = lane.clone();
        at_rate.nic.rate_bits_per_s = phase.rate.0;
        let law = law_bytes(&at_rate, self.cadence.0);
        let (before, after) = phase.limits(seen);
        json!({
            "rule": rule.to_string(),
            "from_s": phase.starts_ns as f64 / 1e9,
            "rate": phase.rate,
            "limit_before_bytes": before,
            "limit_after_bytes": after,
            "law_bytes": law,
            "settling_ms": phase.settling_ns(seen) as f64 / 1e6,
            // Two packets are what the law allows above itself.
            "excess_byte_s": phase.excess_byte_s(seen, law + 2.0 * self.size.0 as f64),
            "idle_us": phase.idle_ns() / 1e3,
        })
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str = "the link speed changes and nothing is told to the limit (E9)";
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        (
            "law_bytes",
            "twice what the link takes in one interval; the least that is enough is half of it, in whole \
             packets",
        ),
        (
            "settling_ms",
            "from the change until the limit is first within 1.25 times of where it ends up, its median \
             over the second half",
        ),
    ];

    type Case = Rule;
    type Outcome = Found;

    fn cases(&self, _seed: u64) -> Result<Vec<Rule>, ScenarioError> {
        Ok(rules().into())
    }

    fn name(&self, rule: &Rule) -> String {
        rule.to_string()
    }

    fn run(&self, rule: &Rule, seed: u64) -> Result<Found, ScenarioError> {
        let lane = self.lane(seed);
        let seen = observe(&lane, rule)?;
        Ok(Found {
            rows: self.rows(rule, &seen, &lane),
            series: series(&rule.to_string(), &seen.course, 0).into(),
            ..Found::default()
        })
    }

    fn found(&self, ran: &[(&Rule, &Found)]) -> Found {
        Found::of(ran)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |rule: Rule| TraceRow::lane(rule.to_string(), self.lane(seed), rule);
        rules().map(row).into()
    }
}
