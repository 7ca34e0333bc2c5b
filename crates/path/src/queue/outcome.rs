//! The results of the calls of a queue.

use taut_dql::{Config, MAX_LIMIT, Stall};

use crate::limit::CompletedCounts;

/// The cause of a stopped queue. It is cleared when there is room again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The limit has no room: the stack stop.
    Limit,
    /// The ring is too full for the largest packet: the driver stop.
    RingFull,
}

/// The reason why a run of the sender ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it contains the time of the next run and a failed doorbell"]
pub enum Stop<E> {
    /// No packet is queued, or none is ready and [`Qdisc::next_ready`](crate::Qdisc::next_ready)
    /// returned `None`.
    Idle,
    /// The limit or the [budget](crate::budget) has no room, or a requested reset has not ended.
    /// The queue is scheduled when that changes.
    Limit,
    /// The ring is full. The queue is scheduled when enough slots are free.
    RingFull,
    /// The first packet in the discipline is ready at this time, in ns: run again then.
    NotReady(u64),
    /// The other half was dropped: no completion will follow.
    Closed,
    /// The doorbell failed. Submitted packets stay in the ring. Run again later to retry: nothing
    /// else rings the doorbell.
    Failed(E),
}

/// The results of a completion batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "see `schedule`, `more_pending` and `stalled`"]
pub struct Completed {
    /// Packets and bytes that count for the limit.
    pub counts: CompletedCounts,
    /// Packets sent before a reset: returned, but not counted.
    pub stale_packets: u32,
    /// The sender must run: the limit or the ring has room again.
    pub schedule: bool,
    /// The reap stopped at its budget with completions pending: complete again.
    pub more_pending: bool,
    /// The oldest unit in flight is older than the threshold: a packet was lost, or the device
    /// stopped. Reported by every batch while it lasts, counted once. The first batch after failed
    /// ones also reports a stall that ended in the meantime. The age is at most an eighth of the
    /// threshold too high. Reset or repair the queue, see [`Queue::reset`](super::Queue::reset).
    pub stalled: Option<Stall>,
}

/// A correction of the ledger, in the limit's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// Units in flight in the ledger, before.
    pub was_in_flight: u32,
    /// Units in the ring, which the ledger has now.
    pub in_flight: u32,
}

/// The state of a queue, in the limit's units. Totals count from the last reset and wrap at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The limit; [`MAX_LIMIT`](taut_dql::MAX_LIMIT) while completions are early.
    pub limit: u32,
    /// The lower bound of the limit.
    pub min_limit: u32,
    /// The upper bound of the limit.
    pub max_limit: u32,
    /// The hold time, in ns: slack is observed for this time before the limit decreases.
    pub hold_time_ns: u64,
    /// Units queued and not yet completed.
    pub in_flight: u32,
    /// Total queued.
    pub num_queued: u32,
    /// Total completed.
    pub num_completed: u32,
    /// Completions are early: they do not mean that packets left the device. The queue then applies
    /// no limit.
    pub early_completions: bool,
}

impl Snapshot {
    /// The part that the completer publishes. The totals are 0.
    pub(super) fn of(config: Config, early_completions: bool, in_flight: u32) -> Self {
        Self {
            limit: shown_limit(config, early_completions),
            min_limit: config.min_limit,
            max_limit: config.max_limit,
            hold_time_ns: config.hold_time_ns,
            in_flight,
            early_completions,
            ..Self::default()
        }
    }
}

/// Returns the limit of a snapshot: early completions disable the limit of the rule.
pub(super) fn shown_limit(config: Config, early_completions: bool) -> u32 {
    if early_completions {
        MAX_LIMIT
    } else {
        config.limit
    }
}
