//! Completion traces as plain data, and limit rules evaluated on them.
//!
//! A [`CompletionTrace`] contains the interrupt times of a device, the return delay of a blocked
//! sender, the workload and the rate of the wire. [`observe`] runs it through the product's own
//! transmit queue, so that a rule meets the conditions of a real device. Completions become visible
//! only at interrupts, and only the limit blocks the sender.

mod detail;
mod intervals;
mod optimum;
mod random;
mod report;
mod run;
mod script;
mod source;

use crate::NEVER_NS;
use crate::error::{TestbedError, demand, demand_countable, demand_order};
pub use crate::testbed::LOSS_STEP_NS;
pub use detail::{Detail, RING_SLOTS_OFF};
pub use intervals::{Interval, Intervals};
pub use optimum::{GRID_BYTES, smallest_sufficient_limit};
pub use random::SplitMix;
pub use report::TraceReport;
pub use run::observe;

/// A number of objects at once, repeated periodically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Time between bursts, in ns; at least 1. The first burst is at time 0.
    pub period_ns: u64,
    /// Objects of each burst.
    pub objects: u64,
}

/// All input of a run, except the rule.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionTrace {
    /// Name of the trace.
    pub id: String,
    /// Changes of the wire's rate: (ns, bytes/s), in order of time, the first at 0.
    pub rates: Vec<(u64, u64)>,
    /// Object sizes, in bytes, used in turn; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub sizes: Vec<u32>,
    /// Maximum objects of one reap; 0 is unlimited.
    pub budget: u32,
    /// Time from a reap that stopped at its budget to the next, in ns.
    pub poll_ns: u64,
    /// The workload; empty for a saturating sender.
    pub bursts: Vec<Burst>,
    /// End of the warm-up, in ns.
    pub warm_ns: u64,
    /// The end, in ns; at most a day if the time series is recorded.
    pub end_ns: u64,
    /// Target utilisation: the share of the time with packets to send in which the wire must be
    /// busy.
    pub utilisation: f64,
    /// Times of permanent changes of the trace, in ns, from which convergence is measured. Time 0
    /// always counts.
    pub changes_ns: Vec<u64>,
    /// The interrupts of each queue; the wire serves the queues round-robin.
    pub queues: Vec<Intervals>,
}

/// A day, because losses are recorded for each 10 ms.
const MAX_TIME_SERIES_NS: u64 = 86_400_000_000_000;

impl CompletionTrace {
    /// Checks that the trace can be run with `detail`. The NIC and the queues check their settings
    /// when they are created.
    ///
    /// # Errors
    /// - If it has no rate, no size or no queue.
    /// - If rates are not in order of time, with the first at 0.
    /// - If a size is larger than a limit can count.
    /// - If bursts are 0 ns apart.
    /// - If the end cannot be reached, or is after a day and the time series is recorded.
    pub fn check(&self, detail: Detail) -> Result<(), TestbedError> {
        let (first_ns, _) = self.first_rate()?;
        if self.sizes.is_empty() || self.queues.is_empty() {
            return Err(TestbedError::Missing("the trace has no size or queue"));
        }
        demand("the first at_ns of rates", first_ns, 0..=0)?;
        demand_order(self.rates.iter().map(|it| it.0), "at_ns of rates")?;
        demand_countable(self.sizes.iter().copied(), "sizes")?;
        for burst in &self.bursts {
            demand("period_ns of a burst", burst.period_ns, 1..=u64::MAX)?;
        }
        demand("end_ns", self.end_ns, 0..=NEVER_NS - 1)?;
        match detail.time_series {
            true => demand(
                "end_ns with a time series",
                self.end_ns,
                0..=MAX_TIME_SERIES_NS,
            ),
            false => Ok(()),
        }
    }

    /// Returns the initial rate: (ns, bytes/s).
    fn first_rate(&self) -> Result<(u64, u64), TestbedError> {
        let first = self.rates.first().copied();
        first.ok_or(TestbedError::Missing("the trace has no rate"))
    }

    /// Returns the measured time, in ns.
    fn measured_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.warm_ns)
    }

    /// Returns the dry time above which the target utilisation is missed, in ns. Busy and dry time
    /// together are at most the measured time.
    fn max_dry_ns(&self) -> u64 {
        let max_ns = (1.0 - self.utilisation) * self.measured_ns() as f64;
        (max_ns as u64).saturating_add(1)
    }
}
