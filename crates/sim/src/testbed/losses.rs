//! What a wire lost and sent, step by step from the start.

/// A step: fine beside the first second, after which a promise must hold.
pub const LOSS_STEP_NS: u64 = 10_000_000;

/// How long the wire sent, and how long it was dry while something waited, from the start to the
/// end of each step of [`LOSS_STEP_NS`]. What is in several steps counts where it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    steps: Vec<Total>,
}

/// Since the start, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) busy_ns: u64,
    pub(super) dry_ns: u64,
}

impl Losses {
    /// The steps until the one of `at_ns` end with so much. Returns when that one ends.
    pub(super) fn end_steps(&mut self, at_ns: u64, total: Total) -> u64 {
        let step = at_ns / LOSS_STEP_NS;
        self.steps.resize(step as usize, total);
        (step + 1).saturating_mul(LOSS_STEP_NS)
    }

    /// The run ends within a step.
    pub(super) fn end(&mut self, total: Total) {
        self.steps.push(total);
    }

    /// What was dry, and what could have been sent, from the start to the end of each step, in ns.
    pub fn totals_ns(&self) -> impl Iterator<Item = (u64, u64)> {
        let steps = self.steps.iter();
        steps.map(|total| (total.dry_ns, total.dry_ns + total.busy_ns))
    }
}
