//! What a wire lost and sent, step by step from the start.

/// A step: fine beside the first second, after which a promise must hold.
pub const LOSS_STEP_NS: u64 = 10_000_000;

/// For each step of [`LOSS_STEP_NS`], how long the wire sent, and how long it was dry while something
/// waited, in ns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    steps: Vec<Step>,
    /// When the last of them ends.
    end_ns: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Step {
    busy_ns: u64,
    dry_ns: u64,
}

impl Losses {
    /// The last step, which is that of `at_ns`: time goes on.
    #[inline]
    fn at(&mut self, at_ns: u64) -> Option<&mut Step> {
        if at_ns >= self.end_ns {
            self.begin(at_ns);
        }
        self.steps.last_mut()
    }

    #[cold]
    fn begin(&mut self, at_ns: u64) {
        let step = at_ns / LOSS_STEP_NS;
        self.steps.resize(step as usize + 1, Step::default());
        self.end_ns = (step + 1) * LOSS_STEP_NS;
    }

    /// The wire sent; all of it counts when it ends.
    #[inline]
    pub(super) fn sent(&mut self, starts_ns: u64, ends_ns: u64) {
        if let Some(step) = self.at(ends_ns) {
            step.busy_ns += ends_ns - starts_ns;
        }
    }

    /// It was dry while something waited; all of that counts when it ends.
    pub(super) fn dry(&mut self, since_ns: u64, until_ns: u64) {
        if let Some(step) = self.at(until_ns) {
            step.dry_ns += until_ns.saturating_sub(since_ns);
        }
    }

    /// What was dry, and what could have been sent, from the start to the end of each step, in ns.
    pub fn totals_ns(&self) -> impl Iterator<Item = (u64, u64)> {
        self.steps.iter().scan((0, 0), |(dry_ns, wanted_ns), step| {
            *dry_ns += step.dry_ns;
            *wanted_ns += step.dry_ns + step.busy_ns;
            Some((*dry_ns, *wanted_ns))
        })
    }
}
