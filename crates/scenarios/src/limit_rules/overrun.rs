//! Compliance with the loss budget at each moment, and not only at the end of a run.

use taut_sim::completion_trace::LOSS_STEP_NS;

/// Learning time of a new queue, in ns.
const LEARNS_NS: u64 = 1_000_000_000;

/// The largest ratio of losses to the loss budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overrun {
    /// Losses since the start over the allowed losses.
    pub over_allowed: f64,
    /// Its time, in s.
    pub at_s: f64,
}

/// Returns the largest overrun of the mean over all seeds, for a target utilisation; `None` without
/// data.
pub(super) fn largest_overrun<'l>(
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
