//! Rules compared with no limit and with the smallest sufficient limit (E6, E11).

use taut_sim::bisection::smallest_above;
use taut_sim::error::TestbedError;
use taut_sim::single_queue_bench::{Observed, Rule, SingleQueueConfig, observe};

use super::{SingleQueueSettings, Traffic};
use crate::limit_rules::RuleName;
use crate::prelude::*;
use crate::scenario::by_rule;

/// A limit is sufficient if it carries this share of the packets carried without a limit.
const SUFFICIENT_THROUGHPUT: f64 = 0.999;

/// Warm-up of a fixed limit: longer than the time in which a ring fills and drains once.
const FIXED_WARM_UP_NS: u64 = 50_000_000;

/// Row name of the smallest sufficient limit, which is exact to less than an object.
const OPTIMUM: &str = "optimum";
const OPTIMUM_STEP_BYTES: u32 = 4;

/// Returns the bench with a warm-up of at most [`FIXED_WARM_UP_NS`], and no samples.
fn with_short_warm_up(bench: &SingleQueueConfig) -> SingleQueueConfig {
    let measure_from_ns = bench.measure_from_ns.min(FIXED_WARM_UP_NS);
    let skipped_ns = bench.measure_from_ns - measure_from_ns;
    let rates = bench.rate_changes.iter();
    SingleQueueConfig {
        measure_from_ns,
        end_ns: bench.end_ns - skipped_ns,
        // The short run has the same phases.
        rate_changes: rates
            .map(|&(at_ns, rate)| (at_ns - skipped_ns, rate))
            .collect(),
        sample_ns: 0,
        ..bench.clone()
    }
}

/// Returns the smallest limit that carries [`SUFFICIENT_THROUGHPUT`] of the packets of `off`.
fn smallest_sufficient_bytes(
    bench: &SingleQueueConfig,
    off: &Observed,
) -> Result<u32, TestbedError> {
    // A fixed limit does not change, so only the first filling of the ring is warm-up.
    let bench = with_short_warm_up(bench);
    let is_sufficient = |bytes| {
        let seen = observe(&bench, &Rule::bytes(bytes))?;
        Ok(seen.wire.packets as f64 >= SUFFICIENT_THROUGHPUT * off.wire.packets as f64)
    };
    let max_bytes = off.in_flight_bytes.max.min(u64::from(u32::MAX / 4)) as u32;
    smallest_above(0, max_bytes, OPTIMUM_STEP_BYTES, is_sufficient)
}

fn row(traffic: &str, (name, rule): (&str, &Rule), seen: &Observed, off: &Observed) -> Value {
    json!({
        "pattern": traffic,
        "rule": name,
        "limit_bytes": (!rule.limit.is_off()).then_some(seen.limit_bytes),
        "in_flight_mean_bytes": seen.in_flight_mean_bytes,
        "in_flight_p99_bytes": seen.in_flight_p99_bytes,
        "utilisation": seen.utilisation,
        "throughput_vs_off": seen.wire.packets as f64 / off.wire.packets.max(1) as f64,
        "urgent_delay_mean_us": seen.urgent_delay_ns.mean() / 1e3,
        "urgent_delay_p99_us": seen.urgent_delay_ns.value_at_quantile(0.99) as f64 / 1e3,
        "starved_batches": seen.starved,
    })
}

impl SingleQueueSettings {
    /// Returns a row for each rule.
    pub(super) fn compare(&self, traffic: &Traffic, seed: u64) -> Result<Results, ScenarioError> {
        let bench = self.bench(traffic, seed);
        let off = observe(&bench, &Rule::off())?;
        let mut found = Results::default();
        for name in &self.rules {
            let (name, rule) = match name {
                RuleName::Fixed => {
                    let bytes = smallest_sufficient_bytes(&bench, &off)?;
                    (OPTIMUM.to_owned(), Rule::bytes(bytes))
                }
                RuleName::Rule(rule) => (rule.to_string(), rule.clone()),
            };
            let seen = observe(&bench, &rule)?;
            let of_rule = row(&traffic.name, (&name, &rule), &seen, &off);
            found.rows.push(of_rule);
        }
        Ok(found)
    }
}

/// Returns the ratio of a row's bytes in flight to those of the smallest sufficient limit.
fn inflight_vs_optimum(row: &Value, rows: &[Value]) -> Option<f64> {
    let is_optimum = |it: &&Value| it["pattern"] == row["pattern"] && it["rule"] == OPTIMUM;
    let min_bytes = rows.iter().find(is_optimum)?["in_flight_mean_bytes"].as_f64()?;
    Some(row["in_flight_mean_bytes"].as_f64()? / min_bytes.max(1.0))
}

/// Summarises each rule over all traffic, if the smallest sufficient limit is among the rules.
pub(super) fn summary(rows: &[Value]) -> Option<Summary> {
    rows.iter().find(|row| row["rule"] == OPTIMUM)?;
    let rules = by_rule(rows);
    let summary = rules.iter().map(|(rule, of_rule)| {
        let ratio = |row: &&Value| inflight_vs_optimum(row, rows);
        let ratios = || of_rule.iter().filter_map(ratio);
        let all = |key: &'static str| of_rule.iter().filter_map(move |row| row[key].as_f64());
        json!({
            "rule": rule,
            "inflight_vs_optimum_best": ratios().reduce(f64::min),
            "inflight_vs_optimum_worst": ratios().reduce(f64::max),
            "throughput_vs_off_worst": all("throughput_vs_off").reduce(f64::min),
            "urgent_delay_p99_us_worst": all("urgent_delay_p99_us").reduce(f64::max),
        })
    });
    Some(Summary {
        title: "Over all patterns (inflight_vs_optimum: bytes in flight over those of the smallest \
                sufficient limit)",
        rows: summary.collect(),
    })
}
