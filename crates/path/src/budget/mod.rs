//! A budget that the queues of one device share: a second limit above their own.
//!
//! Each queue sizes its own limit as if it had the link alone. When all queues send at the same
//! time, the limits add up, and so do the bytes in the device. A budget bounds the sum: a queue
//! sends while its own limit **and** the budget have room. The size of the budget is set by a rule
//! ([`AnyLimit`]) that receives the totals of all queues: a fixed number of bytes, or Linux's rule
//! over the whole device.
//!
//! The protocol is that of every [gate](crate::gate) of this crate. A queue that finds no room
//! draws a ticket, closes its gate, issues a fence and checks again. A thread that releases room
//! publishes it, issues a fence, and wakes the queue that has waited longest. When that queue sends
//! no more, it wakes the next one if there is still room.
//!
//! Invariants, for any schedule of the threads:
//! - The bytes in flight together are at most the budget plus **one object per queue**.
//! - **A queue with nothing in flight may always send one object.** So no queue starves, and a
//!   paused device queue cannot block the others for ever. Every waiting queue has a completion of
//!   its own pending, so there is no deadlock even if a woken queue never runs.
//! - A queue that is woken and finds the room taken keeps its ticket.
//!
//! A queue that another queue's completion wakes is notified through its waker. Call
//! [`must_wait`](crate::queue::Sender::must_wait) after each [`Stop::Limit`](crate::Stop::Limit),
//! even if one thread has all halves.
//!
//! Completed bytes become room immediately. The rule receives them once per *interval*, which must
//! cover an interrupt of every queue. With a shorter interval it counts bytes that are completed
//! but not yet reported as in the device, and the limit stays too low.

mod member;
#[cfg(all(test, loom))]
mod models;
mod rule;
mod waiters;

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::driver::{Completions, TxRing};
use crate::limit::{AnyLimit, Limit, Unit};
use crate::probe::Probe;
use crate::qdisc::Qdisc;
use crate::queue::shared::Shared;
use crate::queue::{Admission, Builder, Halves, HalvesOf, QueueConfigError};
use crate::sharing::Threads;

use member::Device;
pub use member::Member;
use rule::SharedRule;
use waiters::{BudgetQueue, Waiters};

/// A budget that several queues share, for observers. Any thread can use it.
#[derive(Clone)]
pub struct Budget(Arc<Device>);

impl Budget {
    /// Returns the current limit of the bytes in flight together.
    pub fn limit_bytes(&self) -> u32 {
        self.0.waiters.limit_bytes()
    }

    /// Returns the bytes in flight together.
    pub fn in_flight_bytes(&self) -> u32 {
        self.0.waiters.in_flight_bytes()
    }

    /// Returns how often a queue found no room in the budget while its own limit had room,
    /// wrapping.
    pub fn times_blocked(&self) -> u32 {
        self.0.waiters.waits_begun()
    }
}

/// The halves of a queue under a budget.
pub type BudgetHalves<R, C, L, Q, P> = Halves<R, C, L, Q, P, Member>;

/// Builds queues under a budget, whose clock starts at `now_ns`. `rule` counts bytes and updates
/// the budget once per `interval_ns`; 0 updates it with every batch. The completer of one queue can
/// wake another.
///
/// # Errors
/// If the rule counts packets, or the settings of a queue are invalid for its ring.
#[allow(clippy::type_complexity, reason = "a budget and its queues")]
pub fn attach<R, C, L, Q, P>(
    rule: AnyLimit,
    interval_ns: u64,
    queues: Vec<Builder<(R, C), L, Q, P>>,
    now_ns: u64,
) -> Result<(Budget, Vec<BudgetHalves<R, C, L, Q, P>>), QueueConfigError>
where
    R: TxRing,
    C: Completions,
    L: Limit,
    Q: Qdisc,
    P: Probe + Clone,
{
    attach_as(rule, interval_ns, queues, now_ns, |member, _| member)
}

/// As [`attach`], with the admission of a sender that `admission` makes of its member.
#[allow(clippy::type_complexity, reason = "a budget and its queues")]
fn attach_as<R, C, L, Q, P, A: Admission>(
    rule: AnyLimit,
    interval_ns: u64,
    queues: Vec<Builder<(R, C), L, Q, P>>,
    now_ns: u64,
    admission: impl Fn(Member, &Arc<Shared<Threads>>) -> A,
) -> Result<(Budget, Vec<HalvesOf<R, C, L, Q, P, A, Member>>), QueueConfigError>
where
    R: TxRing,
    C: Completions,
    L: Limit,
    Q: Qdisc,
    P: Probe + Clone,
{
    if rule.unit() != Unit::Bytes {
        return Err(QueueConfigError::BudgetNotInBytes);
    }
    let prepared = queues.into_iter().map(|queue| {
        let (prepared, shared) = queue.prepare(now_ns)?;
        Ok((prepared, Arc::new(shared)))
    });
    let prepared: Vec<_> = prepared.collect::<Result<_, _>>()?;
    let (rule, limit_bytes) = SharedRule::new(rule, interval_ns, now_ns);
    let queues = prepared.iter().map(|(_, shared)| shared.clone());
    let waiters = Waiters::new(queues.map(BudgetQueue::new).collect(), limit_bytes);
    let device = Arc::new(Device { waiters, rule });
    let prepared = prepared.into_iter().enumerate();
    let halves = prepared.map(|(queue, (prepared, shared))| {
        let (of_sender, of_completer) = Member::pair(&device, queue);
        let of_sender = admission(of_sender, &shared);
        prepared.share(shared, of_sender, of_completer)
    });
    let halves = halves.collect();
    Ok((Budget(device), halves))
}
