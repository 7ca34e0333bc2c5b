//! The limit after changes of the link rate (E9).

use serde_json::{Value, json};
use taut_sim::convergence::{convergence_once, limit_at};
use taut_sim::nic::WireCounters;
use taut_sim::single_queue_bench::{Observed, Rule, SingleQueueConfig};

use super::over_time::series;
use super::{SingleQueueSettings, Traffic};
use crate::one_queue::law_bytes;
use crate::scenario::Results;
use taut_path::units::Rate;

/// A part of the run with one rate.
struct Phase {
    rate: Rate,
    starts_ns: u64,
    ends_ns: u64,
    /// Link time that the wire carried in it, in bytes.
    time_bytes: u64,
}

impl Phase {
    /// Returns the phases of a run.
    fn all(rates: &[Rate], seen: &Observed) -> Vec<Self> {
        let phases = rates.iter().zip(seen.marks.windows(2));
        let phase = |(&rate, marks): (&Rate, &[(u64, WireCounters)])| Self {
            rate,
            starts_ns: marks[0].0,
            ends_ns: marks[1].0,
            time_bytes: marks[1].1.time_bytes - marks[0].1.time_bytes,
        };
        phases.map(phase).collect()
    }

    /// Returns the convergence time of the limit, in ns; 0 if it started near its final value.
    fn convergence_ns(&self, seen: &Observed) -> u64 {
        let settled = convergence_once(&seen.series.limit_bytes, self.starts_ns, self.ends_ns);
        settled.up_ns.or(settled.down_ns).unwrap_or(0)
    }

    /// Returns the limit just before the phase, and at its end.
    fn limits(&self, seen: &Observed) -> [f64; 2] {
        let times_ns = [self.starts_ns.saturating_sub(1), self.ends_ns];
        times_ns.map(|at_ns| limit_at(&seen.series.limit_bytes, at_ns).into())
    }

    /// Returns the bytes in flight above `max_bytes`, integrated over time, in bytes times
    /// seconds.
    fn excess_byte_s(&self, seen: &Observed, max_bytes: f64) -> f64 {
        let step_ns = seen.series.step_ns;
        let first = (self.starts_ns / step_ns) as usize;
        let last = (self.ends_ns / step_ns) as usize;
        let steps = seen.series.in_flight.iter().take(last).skip(first);
        let max_byte_ns = max_bytes * step_ns as f64;
        steps
            .map(|step| (step.byte_ns as f64 - max_byte_ns).max(0.0) / 1e9)
            .sum()
    }

    fn idle_ns(&self) -> f64 {
        let busy_ns = self.time_bytes as f64 * 8e9 / self.rate.0 as f64;
        ((self.ends_ns - self.starts_ns) as f64 - busy_ns).max(0.0)
    }

    fn row(
        &self,
        rule: &Rule,
        seen: &Observed,
        bench: &SingleQueueConfig,
        coalesce_ns: u64,
    ) -> Value {
        let mut at_rate = bench.clone();
        at_rate.nic.rate_bits_per_s = self.rate.0;
        let law = law_bytes(&at_rate, coalesce_ns);
        // The law allows two packets more.
        let max_bytes = law + 2.0 * f64::from(bench.object_bytes[0]);
        let [before, after] = self.limits(seen);
        json!({
            "rule": rule.to_string(),
            "from_s": self.starts_ns as f64 / 1e9,
            "rate": self.rate,
            "limit_before_bytes": before,
            "limit_after_bytes": after,
            "law_bytes": law,
            "settling_ms": self.convergence_ns(seen) as f64 / 1e6,
            "excess_byte_s": self.excess_byte_s(seen, max_bytes),
            "idle_us": self.idle_ns() / 1e3,
        })
    }
}

impl SingleQueueSettings {
    /// Returns a row for each rate.
    pub(super) fn phases(
        &self,
        traffic: &Traffic,
        rule: &Rule,
        bench: &SingleQueueConfig,
        seen: &Observed,
    ) -> Results {
        let coalesce_ns = self.interval_of(traffic).0;
        let phases = Phase::all(self.rates_of(traffic), seen).into_iter();
        Results {
            rows: phases
                .map(|phase| phase.row(rule, seen, bench, coalesce_ns))
                .collect(),
            series: series(&self.row_name(traffic, rule), &seen.series).into(),
            ..Results::default()
        }
    }
}
