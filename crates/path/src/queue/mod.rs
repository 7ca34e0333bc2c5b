//! The transmit queue: a discipline above, a limit and a ring below.
//!
//! Two halves share two gates and a ledger. The [`Sender`] runs the discipline while the limit has
//! room and the largest packet's slots are free; the [`Completer`] takes completions, tells the
//! limit, and says when the sender must be run again. On one thread, [`Queue`] is both, and pays no
//! fence and no atomic.

mod builder;
mod complete_side;
mod completer;
mod counters;
mod error;
pub mod many;
mod one_thread;
mod pieces;
mod reaped;
mod send_side;
mod send_super;
mod sender;
pub(crate) mod shared;
mod watch;

pub use builder::{Builder, QueueConfig};
pub use completer::Completer;
pub use counters::{CompleterCounters, Drops, SenderCounters};
pub use error::{CompleteError, NoRoom, QueueConfigError, RepairError};
pub use one_thread::Queue;
pub use sender::Sender;
pub use watch::{Watch, WatchSnapshot};

use crate::limit::Done;
use taut_dql::Stall;

/// Why a queue is stopped; only the owner of a reason clears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The limit has no room: the stack stop.
    Limit,
    /// The ring is too full for the largest packet: the driver stop.
    RingFull,
}

/// Why a run of the sender returned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it says when to run again, and whether the doorbell failed"]
pub enum Stop<E> {
    /// Nothing waits in the discipline, or it gives nothing and names no time.
    Idle,
    /// The limit has no room; the completer will schedule the queue.
    Limit,
    /// The ring is full; the completer will schedule the queue.
    RingFull,
    /// Packets wait in the discipline, and the first is ready at this time, in ns: run again then.
    NotReady(u64),
    /// The other half is gone: nothing will ever come back.
    Closed,
    /// The doorbell failed. What was submitted stays in the ring; run again to retry, after a moment
    /// of your choice: nothing else will ring it.
    Failed(E),
}

/// What one round of completions did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "it says whether to run the sender, whether more is finished, and whether the device stands still"]
pub struct Completed {
    /// What counts for the limit.
    pub done: Done,
    /// Packets of before a reset: given back, but not counted.
    pub late_packets: u32,
    /// The queue was stopped and is not any more: run the sender.
    pub schedule: bool,
    /// The round stopped at its budget while more packets were finished: complete again.
    pub more: bool,
    /// The oldest unit in flight is older than the threshold: something is lost, or the device
    /// stands still. Told in every round while it lasts, counted once. Reset or repair the queue, see
    /// [`Queue::reset`].
    pub stalled: Option<Stall>,
}

/// How a ledger was put right, in the limit's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// What the ledger said was in flight.
    pub was_in_flight: u32,
    /// What the ring really holds, and the ledger says now.
    pub in_flight: u32,
}

/// A queue at one moment, in the limit's units. Totals count from the last reset and wrap at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// How much may be in flight; [`MAX_LIMIT`](taut_dql::MAX_LIMIT) where completions are false.
    pub limit: u32,
    /// The least that the rule may set.
    pub min_limit: u32,
    /// The most that the rule may set.
    pub max_limit: u32,
    /// How long slack is observed before the limit is cut, in ns.
    pub hold_time_ns: u64,
    /// Queued and not yet reported complete.
    pub in_flight: u32,
    /// Total queued.
    pub num_queued: u32,
    /// Total completed.
    pub num_completed: u32,
    /// The driver says that its completions do not mean that packets left the device. There is no
    /// limit then.
    pub completions_are_false: bool,
}
