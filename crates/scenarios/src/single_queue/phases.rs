//! The limit after changes of the link rate (E9).

use taut_sim::convergence::{convergence_once, limit_at};
use taut_sim::nic::WireCounters;
use taut_sim::single_queue_bench::{Observed, Rule, SingleQueueConfig};
use taut_sim::time_series::TimeSeries;

use super::over_time::series;
use super::{SingleQueueSettings, Traffic};
use crate::one_queue::law_bytes;
use crate::prelude::*;

/// Returns the bytes in flight above `max_bytes` between two times, integrated over time, in bytes
/// times seconds.
fn excess_byte_s(series: &TimeSeries, [starts_ns, ends_ns]: [u64; 2], max_bytes: f64) -> f64 {
    let step_ns = series.step_ns;
    let [first, last] = [starts_ns, ends_ns].map(|at_ns| (at_ns / step_ns) as usize);
    let steps = series.in_flight.iter().take(last).skip(first);
    let max_byte_ns = max_bytes * step_ns as f64;
    let excess = steps.map(|step| (step.byte_ns as f64 - max_byte_ns).max(0.0) / 1e9);
    excess.sum()
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
        let limits = &seen.series.limit_bytes;
        let row = |(rate, marks): (&Rate, &[(u64, WireCounters)])| -> Value {
            let [starts_ns, ends_ns] = [marks[0].0, marks[1].0];
            let mut at_rate = bench.clone();
            at_rate.nic.rate_bits_per_s = rate.0;
            let law = law_bytes(&at_rate, self.interval_of(traffic).0);
            // The law allows two packets more.
            let max_bytes = law + 2.0 * f64::from(bench.object_bytes[0]);
            // The convergence time is 0 if the limit started near its final value.
            let settled = convergence_once(limits, starts_ns, ends_ns);
            let convergence_ns = settled.up_ns.or(settled.down_ns).unwrap_or(0);
            let time_bytes = marks[1].1.time_bytes - marks[0].1.time_bytes;
            let busy_ns = time_bytes as f64 * 8e9 / rate.0 as f64;
            let limit = |at_ns| f64::from(limit_at(limits, at_ns));
            json!({
                "rule": rule.to_string(),
                "from_s": starts_ns as f64 / 1e9,
                "rate": rate,
                "limit_before_bytes": limit(starts_ns.saturating_sub(1)),
                "limit_after_bytes": limit(ends_ns),
                "law_bytes": law,
                "settling_ms": convergence_ns as f64 / 1e6,
                "excess_byte_s": excess_byte_s(&seen.series, [starts_ns, ends_ns], max_bytes),
                "idle_us": ((ends_ns - starts_ns) as f64 - busy_ns).max(0.0) / 1e3,
            })
        };
        let phases = self.rates_of(traffic).iter().zip(seen.marks.windows(2));
        Results {
            rows: phases.map(row).collect(),
            series: series(&self.row_name(traffic, rule), &seen.series).into(),
            ..Results::default()
        }
    }
}
