//! What the calls of a queue return.

use taut_dql::Stall;

use crate::limit::CompletedCounts;

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
    /// The doorbell failed. What was submitted stays in the ring; run again to retry, after a
    /// moment of your choice: nothing else will ring it.
    Failed(E),
}

/// The results of a completion batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "it says whether to run the sender, whether to complete again, and whether the device stalled"]
pub struct Completed {
    /// What counts for the limit.
    pub counts: CompletedCounts,
    /// Packets sent before a reset: returned, but not counted.
    pub stale_packets: u32,
    /// The queue was stopped and is not any more: run the sender.
    pub schedule: bool,
    /// The reap stopped at its budget with completions pending: complete again.
    pub more_pending: bool,
    /// The oldest unit in flight is older than the threshold: something is lost, or the device
    /// stopped. Reported by every batch while it lasts, counted once. The age is at most an eighth
    /// of the threshold too high. Reset or repair the queue, see
    /// [`Queue::reset`](super::Queue::reset).
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
    /// How much may be in flight; [`MAX_LIMIT`](taut_dql::MAX_LIMIT) while completions are early.
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
    /// Completions are early: they do not mean that packets left the device. The queue then applies
    /// no limit.
    pub early_completions: bool,
}
