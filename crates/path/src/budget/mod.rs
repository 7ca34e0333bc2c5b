//! A budget that the queues of one device share: a second gate above their limits.
//!
//! Each queue sizes its own limit as if it had the link alone. When all send at once, the limits
//! add up, and so does what waits in the device. A budget holds the sum: a queue sends while its own
//! limit **and** the budget have room. How much that is says a rule like any other ([`Limit`]),
//! which hears what all queues send and complete: a fixed number of bytes, or Linux's rule over the
//! whole device. The link is one, so its need is one.
//!
//! The protocol is that of every gate here. A queue that finds no room gets in line, closes its
//! gate, fences, and looks again. Whoever gives back does so, fences, and starts the queue that has
//! waited longest; that one, when it takes no more, starts the next if there is still room.
//!
//! What holds, whatever the threads do:
//! - In flight together is at most the budget and **one object for each queue**.
//! - **A queue with nothing in flight may always send one object.** So no queue starves, a device
//!   queue that is paused cannot hold back the others for ever, and every queue that waits has a
//!   completion of its own to come: there is no deadlock, also if one that was started never runs.
//! - A queue that is started and finds that another took the room keeps its place in line.
//!
//! A queue that is started by another's completion is told through its waker, so ask
//! [`must_wait`](crate::queue::Sender::must_wait) after each [`Stop::Limit`](crate::Stop::Limit),
//! also on one thread.
//!
//! What comes back is room at once, but the rule hears of it once in an *interval*, which must hold
//! an interrupt of every queue. Told more often, a dynamic rule would take what finished on one queue
//! and was not reported yet for a device that is busy, and would stay too low.

mod halves;
mod line;
mod rule;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::limit::Limit;
use crate::qdisc::Qdisc;
use crate::queue::{QueueConfig, QueueConfigError, Reaper, Sender, Shared, split_around};

pub use halves::{Budgeted, BudgetedCompleter, BudgetedSender};
use line::{Line, Seat};
use rule::Steward;

/// One queue of a device, before it is divided into its halves.
pub struct Setup<L> {
    /// Where its packets wait.
    pub discipline: Box<dyn Qdisc + Send>,
    /// Its own limit.
    pub limit: L,
    /// Ring, watermark, waker.
    pub config: QueueConfig,
}

/// The halves of one queue under a budget.
pub type Halves<L, R> = (Sender<Budgeted<L, R>>, Reaper<Budgeted<L, R>>);

/// What the queues of a device share.
struct Device<R: Limit> {
    line: Line,
    steward: Steward<R>,
}

/// A budget, for whoever watches it; any thread may.
pub struct Budget<R: Limit>(Arc<Device<R>>);

impl<R: Limit> Budget<R> {
    /// What may be in flight together now, in bytes.
    pub fn limit_bytes(&self) -> u32 {
        self.0.line.limit_bytes()
    }

    /// What is in flight together, in bytes.
    pub fn in_flight_bytes(&self) -> u64 {
        self.0.line.in_flight_bytes()
    }

    /// What queue `index` has in flight, in bytes, if there is one.
    pub fn in_flight_of_bytes(&self, index: usize) -> Option<u64> {
        self.0.line.seats.get(index).map(Seat::in_flight_bytes)
    }

    /// Times that a queue found no room in the budget while its own limit had some.
    pub fn waits(&self) -> u64 {
        self.0.line.waits()
    }

    /// Times that a queue was started by what another gave back or left.
    pub fn starts(&self) -> u64 {
        self.0.line.starts()
    }
}

impl<R: Limit> Clone for Budget<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Makes the queues of one device under a budget that `rule`, which counts bytes, moves, told once
/// in `interval_ns`. A cadence of the rule's own is not needed.
///
/// # Errors
/// If the rule counts packets, or the settings of the rule or of a queue contradict each other.
#[allow(clippy::type_complexity, reason = "a budget and its queues")]
pub fn split<L: Limit, R: Limit>(
    rule: R,
    interval_ns: u64,
    queues: Vec<Setup<L>>,
    now_ns: u64,
) -> Result<(Budget<R>, Vec<Halves<L, R>>), QueueConfigError> {
    split_around_line(rule, interval_ns, queues, now_ns, |line| line)
}

/// As [`split`], for the model check only: no queue looks at the budget again once its gate is
/// closed.
///
/// # Errors
/// As [`split`].
#[cfg(loom)]
#[doc(hidden)]
#[allow(clippy::type_complexity, reason = "a budget and its queues")]
pub fn split_without_a_second_look<L: Limit, R: Limit>(
    rule: R,
    interval_ns: u64,
    queues: Vec<Setup<L>>,
    now_ns: u64,
) -> Result<(Budget<R>, Vec<Halves<L, R>>), QueueConfigError> {
    split_around_line(rule, interval_ns, queues, now_ns, |mut line| {
        line.looks_again = false;
        line
    })
}

#[allow(clippy::type_complexity, reason = "a budget and its queues")]
fn split_around_line<L: Limit, R: Limit>(
    rule: R,
    interval_ns: u64,
    queues: Vec<Setup<L>>,
    now_ns: u64,
    change: impl FnOnce(Line) -> Line,
) -> Result<(Budget<R>, Vec<Halves<L, R>>), QueueConfigError> {
    if !rule.counts_bytes() {
        return Err(QueueConfigError::BudgetNotInBytes);
    }
    let gates = queues.iter();
    let gates: Vec<_> = gates
        .map(|queue| Arc::new(Shared::new(&queue.config, now_ns)))
        .collect();
    let (steward, limit_bytes) =
        Steward::new(rule, interval_ns, now_ns).map_err(QueueConfigError::Limit)?;
    let line = Line::new(gates.iter().cloned().map(Seat::new).collect(), limit_bytes);
    let device = Arc::new(Device {
        line: change(line),
        steward,
    });
    let halves = queues.into_iter().zip(gates).enumerate();
    let halves = halves.map(|(seat, (queue, gates))| {
        let limit = Budgeted::new(queue.limit, device.clone(), seat);
        split_around(gates, queue.discipline, limit, &queue.config, now_ns)
    });
    let halves = halves.collect::<Result<_, _>>()?;
    Ok((Budget(device), halves))
}
