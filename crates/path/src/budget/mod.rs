//! A budget that the queues of one device share: a second gate above their limits.
//!
//! Each queue sizes its own limit as if it had the link alone. When all send at once, the limits
//! add up, and so does what waits in the device. A budget holds the sum: a queue sends while its
//! own limit **and** the budget have room. How much that is says a rule like any other
//! ([`AnyLimit`]), which hears what all queues send and complete: a fixed number of bytes, or
//! Linux's rule over the whole device. The link is one, so its need is one.
//!
//! The protocol is that of every gate here. A queue that finds no room draws a ticket, closes its
//! gate, fences, and looks again. Whoever gives back does so, fences, and starts the queue that has
//! waited longest; that one, when it takes no more, starts the next if there is still room.
//!
//! What holds, whatever the threads do:
//! - In flight together is at most the budget and **one object for each queue**.
//! - **A queue with nothing in flight may always send one object.** So no queue starves, a device
//!   queue that is paused cannot hold back the others for ever, and every queue that waits has a
//!   completion of its own to come: there is no deadlock, also if one that was started never runs.
//! - A queue that is started and finds that another took the room keeps its ticket.
//!
//! A queue that is started by another's completion is told through its waker, so ask
//! [`must_wait`](crate::queue::Sender::must_wait) after each [`Stop::Limit`](crate::Stop::Limit),
//! also where one thread has all halves.
//!
//! What comes back is room at once, but the rule hears of it once in an *interval*, which must hold
//! an interrupt of every queue. Told more often, a dynamic rule would take what finished on one
//! queue and was not reported yet for a device that is busy, and would stay too low.

mod device;
mod member;
#[cfg(all(test, loom))]
mod models;
mod rule;
mod waiters;

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::limit::{AnyLimit, Limit, Unit};
use crate::probe::Probe;
use crate::qdisc::Qdisc;
use crate::queue::{Halves, QueueConfigError};

use device::Device;
pub use member::Member;
use rule::SharedRule;
use waiters::{BudgetQueue, Waiters};

/// A budget, for whoever watches it; any thread may.
#[derive(Clone)]
pub struct Budget(Arc<Device>);

impl Budget {
    /// What may be in flight together now, in bytes.
    pub fn limit_bytes(&self) -> u32 {
        self.0.waiters.limit_bytes()
    }

    /// What is in flight together, in bytes.
    pub fn in_flight_bytes(&self) -> u32 {
        self.0.waiters.in_flight_bytes()
    }

    /// Times that a queue found no room in the budget while its own limit had some, wrapping.
    pub fn times_blocked(&self) -> u32 {
        self.0.waiters.waits_begun()
    }

    /// Times that a queue was started by what another gave back or left, wrapping.
    pub fn times_woken(&self) -> u32 {
        self.0.waiters.queues_woken()
    }
}

/// The halves of a queue that has a budget.
pub type BudgetHalves<R, C, L, Q, P> = Halves<R, C, L, Q, P, Member>;

/// Puts new queues under a budget that `rule`, which counts bytes, moves once in `interval_ns`. The
/// completer of one queue can start another.
///
/// # Errors
/// If the rule counts packets, or a queue has sent already.
#[allow(clippy::type_complexity, reason = "a budget and its queues")]
pub fn attach<R, C, L, Q, P>(
    rule: AnyLimit,
    interval_ns: u64,
    halves: Vec<Halves<R, C, L, Q, P>>,
    now_ns: u64,
) -> Result<(Budget, Vec<BudgetHalves<R, C, L, Q, P>>), QueueConfigError>
where
    L: Limit,
    Q: Qdisc,
    P: Probe,
{
    if rule.unit() != Unit::Bytes {
        return Err(QueueConfigError::BudgetNotInBytes);
    }
    if halves.iter().any(|(sender, ..)| sender.in_flight() > 0) {
        return Err(QueueConfigError::NotNew);
    }
    let (rule, limit_bytes) = SharedRule::new(rule, interval_ns, now_ns);
    let queues = halves.iter().map(|(sender, ..)| sender.shared());
    let waiters = Waiters::new(queues.map(BudgetQueue::new).collect(), limit_bytes);
    let device = Arc::new(Device { waiters, rule });
    let halves = halves.into_iter().enumerate();
    let joined = halves.map(|(queue, (sender, completer, monitor))| {
        let (of_sender, of_completer) = Member::pair(&device, queue);
        let sender = sender.map_admission(|()| of_sender);
        let completer = completer.map_admission(|()| of_completer);
        (sender, completer, monitor)
    });
    let joined = joined.collect();
    Ok((Budget(device), joined))
}
