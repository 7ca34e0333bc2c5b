//! Results of a rule on a trace over all seeds.

use serde_json::{Value, json};

use super::RuleName;
use taut_sim::completion_trace::{CompletionTrace, LOSS_STEP_NS, TraceReport};
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
        trace: &CompletionTrace,
        seen: &TraceReport,
        fixed: Option<&TraceReport>,
    ) -> Self {
        Self {
            ratio: fixed
                .filter(|fixed| fixed.mean_bytes > 0.0)
                .map(|fixed| seen.mean_bytes / fixed.mean_bytes),
            convergence: convergence_times(&seen.limit_changes, &trace.changes_ns, trace.end_ns),
            seen: TraceReport {
                limit_changes: Vec::new(),
                ..seen.clone()
            },
        }
    }
}

/// Returns the row of a rule: means over the seeds. `None` if there are no results. A confidence
/// interval is `null` for a single seed.
pub(super) fn row(
    pattern: &str,
    rule: &RuleName,
    target: f64,
    outcomes: &[OfSeed],
) -> Option<Value> {
    let all = |value: fn(&OfSeed) -> f64| -> Vec<f64> { outcomes.iter().map(value).collect() };
    let mean_of = |value: fn(&OfSeed) -> f64| mean(&all(value));
    let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let overrun = largest_overrun(outcomes.iter().map(|it| &it.seen.losses[..]), target);
    let utilisations = all(|it| it.seen.utilisation);
    // `None` without a sufficient fixed limit.
    let ratios: Option<Vec<f64>> = outcomes.iter().map(|it| it.ratio).collect();
    let utilisation = mean(&utilisations)?;
    Some(json!({
        "pattern": pattern,
        "rule": rule.to_string(),
        "seeds": outcomes.len(),
        "ratio": ratios.as_deref().and_then(mean),
        "ratio_ci95": ratios.as_deref().and_then(interval95),
        "target": target,
        "utilisation": utilisation,
        "utilisation_ci95": interval95(&utilisations),
        "utilisation_min": utilisations.iter().copied().fold(1.0, f64::min),
        "hp_delay_us_p50": mean_of(|it| it.seen.urgent_delay_p50_ns as f64 / 1e3),
        "hp_delay_us_p99": mean_of(|it| it.seen.urgent_delay_p99_ns as f64 / 1e3),
        "mean_bytes": mean_of(|it| it.seen.mean_bytes),
        "p50_bytes": mean_of(|it| it.seen.p50_bytes as f64),
        "p99_bytes": mean_of(|it| it.seen.p99_bytes as f64),
        "in_flight_mean_bytes": mean_of(|it| it.seen.in_flight_mean_bytes),
        "limit": mean_of(|it| it.seen.limit_bytes as f64),
        "limit_unit": rule.unit_name(),
        "learning_loss_us": mean_of(|it| it.seen.learning_dry_ns as f64 / 1e3),
        "loss_over_allowed": overrun.map(|it| it.over_allowed),
        "loss_over_allowed_at_s": overrun.map(|it| it.at_s),
        "converge_up_ms": longest(outcomes.iter().map(|it| ms(it.convergence.up_ns))),
        "converge_down_ms": longest(outcomes.iter().map(|it| ms(it.convergence.down_ns))),
    }))
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

/// Returns the 95 % confidence interval of the mean; `None` for a single value.
fn interval95(values: &[f64]) -> Option<[f64; 2]> {
    let mean = mean(values)?;
    let student = STUDENT.get(values.len().checked_sub(2)?)?;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    let count = values.len() as f64;
    let half = student * libm::sqrt(squares / (count - 1.0) / count);
    Some([mean - half, mean + half])
}

/// Learning time of a new queue, in ns.
const LEARNS_NS: u64 = 1_000_000_000;

/// The largest ratio of losses to the loss budget.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Overrun {
    /// Losses since the start over the allowed losses.
    over_allowed: f64,
    /// Its time, in s.
    at_s: f64,
}

/// Returns the largest overrun of the mean over all seeds, for a target utilisation; `None` without
/// data.
fn largest_overrun<'l>(
    seeds: impl Iterator<Item = &'l [(u64, u64)]>,
    target: f64,
) -> Option<Overrun> {
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for totals in seeds {
        let steps = sums.len().max(totals.len());
        // A seed whose last step is earlier than that of others keeps its last value.
        let last = |of: &[(u64, u64)]| of.last().copied().unwrap_or_default();
        let (last_sum, last_total) = (last(&sums), last(totals));
        sums.resize(steps, last_sum);
        for (step, sum) in sums.iter_mut().enumerate() {
            let (dry_ns, busy_and_dry_ns) = totals.get(step).copied().unwrap_or(last_total);
            *sum = (sum.0 + dry_ns, sum.1 + busy_and_dry_ns);
        }
    }
    let later = sums
        .iter()
        .enumerate()
        .skip((LEARNS_NS / LOSS_STEP_NS) as usize - 1);
    let broken = later.map(|(step, &(dry_ns, busy_and_dry_ns))| Overrun {
        over_allowed: dry_ns as f64 / ((1.0 - target) * busy_and_dry_ns.max(1) as f64),
        at_s: ((step as u64 + 1) * LOSS_STEP_NS) as f64 / 1e9,
    });
    broken.max_by(|a, b| a.over_allowed.total_cmp(&b.over_allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_interval_matches_the_textbook() {
        // Mean 5, deviation sqrt(32/7), t of 7 degrees 2.365.
        let found = interval95(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((found[1] - 5.0 - 1.787_7).abs() < 1e-3, "{found:?}");
        assert!((found[0] + found[1] - 10.0).abs() < 1e-9, "{found:?}");
        assert_eq!(interval95(&[1.0]), None);
        assert_eq!(interval95(&[]), None);
    }
}
