//! Cumulative losses and transmissions of a wire, in steps from the start.

/// Length of a step, in ns: short compared with the first second, after which the target applies.
pub const LOSS_STEP_NS: u64 = 10_000_000;

/// Busy time of the wire, and its dry time with packets queued, from the start to the end of each
/// step of [`LOSS_STEP_NS`]. An interval over several steps counts in its last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    steps: Vec<Total>,
}

/// Sums since the start, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) busy_ns: u64,
    pub(super) dry_ns: u64,
}

impl Losses {
    /// Ends the steps before the one of `at_ns` with `total`. Returns the end of that step, in ns.
    pub(super) fn end_steps(&mut self, at_ns: u64, total: Total) -> u64 {
        let step = at_ns / LOSS_STEP_NS;
        self.steps.resize(step as usize, total);
        (step + 1).saturating_mul(LOSS_STEP_NS)
    }

    /// Ends the run within a step.
    pub(super) fn end(&mut self, total: Total) {
        self.steps.push(total);
    }

    /// Returns the dry time and the total time with packets, from the start to the end of each
    /// step, in ns.
    pub fn totals_ns(&self) -> impl Iterator<Item = (u64, u64)> {
        let steps = self.steps.iter();
        steps.map(|total| (total.dry_ns, total.dry_ns + total.busy_ns))
    }
}
