//! Whether a promise holds at each moment, and not only in the end.

use taut_sim::completion_trace::{LOSS_STEP_NS, Losses};

/// A new queue has so long to learn, in ns.
const LEARNS_NS: u64 = 1_000_000_000;

/// When a promise was broken most, or kept least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overrun {
    /// What was lost since the start over what may be.
    pub over_allowed: f64,
    /// When, in s.
    pub at_s: f64,
}

/// The worst moment of the mean over all seeds, of a promise to use so much; nothing if nothing was
/// seen.
pub(super) fn largest_overrun<'l>(
    seeds: impl Iterator<Item = &'l Losses>,
    promise: f64,
) -> Option<Overrun> {
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for losses in seeds {
        let totals: Vec<_> = losses.totals_ns().collect();
        let steps = sums.len().max(totals.len());
        // A seed whose last step is earlier than that of others stays where it was.
        let last = |of: &[(u64, u64)]| of.last().copied().unwrap_or_default();
        let (last_sum, last_total) = (last(&sums), last(&totals));
        sums.resize(steps, last_sum);
        for (step, sum) in sums.iter_mut().enumerate() {
            let (dry_ns, wanted_ns) = totals.get(step).copied().unwrap_or(last_total);
            *sum = (sum.0 + dry_ns, sum.1 + wanted_ns);
        }
    }
    let later = sums
        .iter()
        .enumerate()
        .skip((LEARNS_NS / LOSS_STEP_NS) as usize - 1);
    let broken = later.map(|(step, &(dry_ns, wanted_ns))| Overrun {
        over_allowed: dry_ns as f64 / ((1.0 - promise) * wanted_ns.max(1) as f64),
        at_s: ((step as u64 + 1) * LOSS_STEP_NS) as f64 / 1e9,
    });
    broken.max_by(|a, b| a.over_allowed.total_cmp(&b.over_allowed))
}
