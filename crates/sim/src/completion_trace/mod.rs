//! Completion patterns as plain data, and limit rules judged on them.
//!
//! A [`CompletionTrace`] says when a device interrupts, how late a refused sender comes back, what
//! is sent and how fast the wire is. [`observe`] runs it through the product's own transmit queue,
//! so a rule meets exactly what a device would do to it: completions become visible only at
//! interrupts, and the sender is refused by nothing but its limit.

mod detail;
mod fixed;
mod intervals;
mod optimum;
mod random;
mod run;
mod script;
mod seen;
mod source;

use crate::NEVER_NS;
use crate::error::{TestbedError, demand, demand_countable, demand_order};
pub use crate::testbed::{LOSS_STEP_NS, Losses};
pub use detail::{Detail, RING_SLOTS_OFF};
pub use intervals::{Interval, Intervals};
pub use optimum::{GRID_BYTES, smallest_sufficient_limit};
pub use random::SplitMix;
pub use run::observe;
pub use seen::TraceReport;
pub(crate) use source::{TraceSource, Waiting};

/// So many objects at once, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// From burst to burst, in ns; at least 1. The first is at time 0.
    pub period_ns: u64,
    /// Objects of each.
    pub objects: u64,
}

/// Everything that a run needs to know, except the rule.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionTrace {
    /// Its name.
    pub id: String,
    /// The wire's rate from a time on: (ns, bytes/s), in order of time, the first at 0.
    pub rates: Vec<(u64, u64)>,
    /// Sizes of what is sent, in bytes, used in turn; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub sizes: Vec<u32>,
    /// Most objects of one reap; 0 takes all.
    pub budget: u32,
    /// From a reap that stopped at its budget to the next, in ns.
    pub poll_ns: u64,
    /// What is offered; nothing here is a sender that always has something to send.
    pub bursts: Vec<Burst>,
    /// What is not measured at the start, in ns.
    pub warm_ns: u64,
    /// The end, in ns; at most a day where the course is kept.
    pub end_ns: u64,
    /// The promise: share of the time with something to send in which the wire is to be busy.
    pub utilisation: f64,
    /// When the pattern changes for good, in ns: where settling begins. Time 0 always counts.
    pub changes_ns: Vec<u64>,
    /// The interrupts of each queue; queues take turns on the wire.
    pub queues: Vec<Intervals>,
}

/// A day: a step of what was lost is kept for each 10 ms.
const LONGEST_COURSE_NS: u64 = 86_400_000_000_000;

impl CompletionTrace {
    /// Whether a pattern can be run, watched as closely as `detail` says; NIC and queue look at
    /// their settings when they are made.
    ///
    /// # Errors
    /// If it has no rate, no size or no queue; rates that are not in order of time, with the first
    /// at 0; a size that no limit can count; bursts 0 ns apart; an end that never is, or after a
    /// day of which the course is kept.
    pub fn check(&self, detail: Detail) -> Result<(), TestbedError> {
        let (first_ns, _) = self.first_rate()?;
        if self.sizes.is_empty() || self.queues.is_empty() {
            return Err(TestbedError::Missing("the pattern has no size or queue"));
        }
        demand(first_ns == 0, "the first of the rates", "time 0")?;
        demand_order(self.rates.iter().map(|it| it.0), "the rates")?;
        demand_countable(self.sizes.iter().copied(), "sizes")?;
        let apart = self.bursts.iter().all(|it| it.period_ns > 0);
        demand(apart, "period_ns of a burst", "at least 1 ns")?;
        demand(
            self.end_ns < NEVER_NS,
            "end_ns",
            "less than 18446744073709551615 ns",
        )?;
        let is_short = !detail.course || self.end_ns <= LONGEST_COURSE_NS;
        demand(is_short, "end_ns with a course", "at most a day")
    }

    /// The rate that it begins with: (ns, bytes/s).
    fn first_rate(&self) -> Result<(u64, u64), TestbedError> {
        let first = self.rates.first().copied();
        first.ok_or(TestbedError::Missing("the pattern has no rate"))
    }

    /// What is measured, in ns.
    fn measured_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.warm_ns)
    }

    /// Dry time beyond which the promise is lost: busy and dry time together are at most what is
    /// measured.
    fn most_dry_ns(&self) -> u64 {
        let most_ns = (1.0 - self.utilisation) * self.measured_ns() as f64;
        (most_ns as u64).saturating_add(1)
    }
}
