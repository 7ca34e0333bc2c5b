//! The results of a tracker.

use taut_dql::Stall;
use taut_path::limit::CompletedCounts;

use crate::quality::CompletionQuality;

/// A datagram (or several that went as one) is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Its number: see [`Sent::first`](crate::Sent::first).
    pub id: u32,
    /// Bytes on the wire, headers of each datagram included.
    pub bytes: u32,
    /// Datagrams.
    pub datagrams: u32,
    /// How long it was below the socket, in ns: by the kernel's stamp, or until somebody looked.
    pub sojourn_ns: u64,
    /// How long it was in the queueing discipline, in ns, if both stamps were asked for.
    pub qdisc_ns: Option<u64>,
    /// How this is known.
    pub kind: DepartureKind,
}

/// How a departure is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DepartureKind {
    /// A transmit stamp.
    Timestamp,
    /// A zero-copy notification.
    Released,
    /// The level of the socket.
    Level,
    /// Its completion was lost: the kernel holds nothing of this socket any more, or later objects
    /// left long ago. It was sent, or dropped on the way.
    Lost,
}

/// What one look at the kernel's news did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Completed {
    /// What completed, in packets (objects) and bytes.
    pub counts: CompletedCounts,
    /// Of these, the objects whose completion was lost.
    pub lost: u32,
    /// The verdict, if it changed.
    pub quality_change: Option<CompletionQuality>,
    /// The oldest object is older than the threshold. Told in each round while it lasts.
    pub stalled: Option<Stall>,
    /// The path ran dry while the limit held the sender back.
    pub starved: bool,
}

/// A batch that is not ended.
#[derive(Debug, Default)]
pub(super) struct OpenBatch {
    /// Units that completed, without those of lost completions.
    pub units: u32,
    pub counts: CompletedCounts,
    pub lost: u32,
    pub quality_changed: bool,
}

/// Totals of a tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Objects given to the kernel.
    pub sent_objects: u64,
    /// Their datagrams.
    pub sent_datagrams: u64,
    /// Their bytes on the wire.
    pub sent_bytes: u64,
    /// Bytes that completed, given up ones included.
    pub completed_bytes: u64,
    /// Objects whose completion was lost and made up for.
    pub lost_completions: u64,
    /// Completions of objects that had been given up before.
    pub stale_completions: u64,
    /// Completions with a number that was never given: someone else sends through a clone of the
    /// socket.
    pub unknown_completions: u64,
    /// Zero-copy notifications of objects that the kernel copied after all.
    pub copied: u64,
    /// Times that the sender was blocked: each attempt without room, and each task that began to
    /// wait.
    pub times_blocked: u64,
    /// Stalls, each counted once.
    pub stalls: u64,
    /// Times that the verdict changed.
    pub quality_changes: u64,
}
