//! Results of a rule on a workload over all seeds.

use serde::Serialize;

use super::RuleName;
use super::overrun::{Overrun, largest_overrun};
use super::workload::Workload;
use taut_sim::completion_trace::TraceReport;
use taut_sim::convergence::{ConvergenceTimes, convergence_times};

/// Results of one seed.
#[derive(Debug, Clone)]
pub(super) struct OfSeed {
    ratio: Option<f64>,
    seen: TraceReport,
    convergence: ConvergenceTimes,
}

impl OfSeed {
    pub(super) fn new(
        workload: &dyn Workload,
        seen: &TraceReport,
        fixed: Option<&TraceReport>,
    ) -> Self {
        Self {
            ratio: fixed
                .filter(|fixed| fixed.mean_bytes > 0.0)
                .map(|fixed| seen.mean_bytes / fixed.mean_bytes),
            convergence: convergence_times(
                &seen.limit_changes,
                workload.changes_ns(),
                workload.end_ns(),
            ),
            seen: TraceReport {
                limit_changes: Vec::new(),
                ..seen.clone()
            },
        }
    }
}

/// A 95 % confidence interval of a mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval95(pub f64, pub f64);

/// Results of a rule on a workload: means over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitRow {
    /// Name of the workload.
    pub pattern: String,
    /// The rule.
    pub rule: String,
    /// Number of seeds.
    pub seeds: usize,
    /// Mean queue over that of the smallest sufficient fixed limit; `None` if there is no such
    /// limit.
    pub ratio: Option<f64>,
    /// Its confidence interval; `None` for a single seed.
    pub ratio_ci95: Option<Interval95>,
    /// The target utilisation.
    pub target: f64,
    /// Share of the time with something to send in which the wire was busy.
    pub utilisation: f64,
    /// Its confidence interval.
    pub utilisation_ci95: Option<Interval95>,
    /// The minimum over the seeds.
    pub utilisation_min: f64,
    /// Delay of a packet of high priority: median.
    pub hp_delay_us_p50: f64,
    /// 99th percentile of this delay.
    pub hp_delay_us_p99: f64,
    /// Mean bytes in the ring that have not left.
    pub mean_bytes: f64,
    /// Median of these bytes.
    pub p50_bytes: f64,
    /// 99th percentile of these bytes.
    pub p99_bytes: f64,
    /// Mean of queued minus reported bytes.
    pub in_flight_mean_bytes: f64,
    /// The limit at the end.
    pub limit: f64,
    /// Its unit: `bytes` or `packets`.
    pub limit_unit: &'static str,
    /// Link time lost during the warm-up, while the rule learned.
    pub learning_loss_us: f64,
    /// Maximum, from 1 s on, of the mean losses since the start over the losses that the target
    /// allows by then. `None` if the losses are not recorded.
    pub loss_over_allowed: Option<f64>,
    /// The time of that maximum, in s.
    pub loss_over_allowed_at_s: Option<f64>,
    /// Longest convergence time after a change that requires a larger limit.
    pub converge_up_ms: Option<f64>,
    /// Longest convergence time after a change that permits a smaller limit.
    pub converge_down_ms: Option<f64>,
}

impl LimitRow {
    /// Returns `None` if there are no results.
    pub(super) fn new(
        pattern: &str,
        rule: &RuleName,
        target: f64,
        outcomes: &[OfSeed],
    ) -> Option<Self> {
        let all = |value: fn(&OfSeed) -> f64| -> Vec<f64> { outcomes.iter().map(value).collect() };
        let some = |value: fn(&OfSeed) -> Option<f64>| -> Option<Vec<f64>> {
            outcomes.iter().map(value).collect()
        };
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        let broken = largest_overrun(outcomes.iter().map(|it| &it.seen.losses[..]), target);
        let utilisations = all(|it| it.seen.utilisation);
        let ratios = some(|it| it.ratio);
        Some(Self {
            pattern: pattern.to_owned(),
            rule: rule.to_string(),
            seeds: outcomes.len(),
            ratio_ci95: ratios.as_deref().and_then(interval95),
            ratio: ratios.and_then(|ratios| mean(&ratios)),
            target,
            utilisation: mean(&utilisations)?,
            utilisation_ci95: interval95(&utilisations),
            utilisation_min: utilisations.iter().copied().fold(1.0, f64::min),
            hp_delay_us_p50: mean(&all(|it| it.seen.urgent_delay_p50_ns as f64 / 1e3))?,
            hp_delay_us_p99: mean(&all(|it| it.seen.urgent_delay_p99_ns as f64 / 1e3))?,
            mean_bytes: mean(&all(|it| it.seen.mean_bytes))?,
            p50_bytes: mean(&all(|it| it.seen.p50_bytes as f64))?,
            p99_bytes: mean(&all(|it| it.seen.p99_bytes as f64))?,
            in_flight_mean_bytes: mean(&all(|it| it.seen.in_flight_mean_bytes))?,
            limit: mean(&all(|it| it.seen.limit_bytes as f64))?,
            limit_unit: rule.unit_name(),
            learning_loss_us: mean(&all(|it| it.seen.learning_dry_ns as f64 / 1e3))?,
            loss_over_allowed: broken.map(|Overrun { over_allowed, .. }| over_allowed),
            loss_over_allowed_at_s: broken.map(|Overrun { at_s, .. }| at_s),
            converge_up_ms: longest(outcomes.iter().map(|it| ms(it.convergence.up_ns))),
            converge_down_ms: longest(outcomes.iter().map(|it| ms(it.convergence.down_ns))),
        })
    }
}

fn longest(times: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    times.flatten().reduce(f64::max)
}

fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

/// Student's t: 97.5 % quantile for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Returns the confidence interval of the mean; `None` for a single value.
fn interval95(values: &[f64]) -> Option<Interval95> {
    let mean = mean(values)?;
    let student = STUDENT.get(values.len().checked_sub(2)?)?;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    let count = values.len() as f64;
    let half = student * libm::sqrt(squares / (count - 1.0) / count);
    Some(Interval95(mean - half, mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_interval_matches_the_textbook() {
        // Mean 5, deviation sqrt(32/7), t of 7 degrees 2.365.
        let found = interval95(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((found.1 - 5.0 - 1.787_7).abs() < 1e-3, "{found:?}");
        assert!((found.0 + found.1 - 10.0).abs() < 1e-9, "{found:?}");
        assert_eq!(interval95(&[1.0]), None);
        assert_eq!(interval95(&[]), None);
    }
}
