//! What the accounting reports.

use taut_dql::Stall;
use taut_path::limit::CompletedCounts;

use crate::quality::CompletionQuality;

/// The departure of an object: a datagram, or several that were sent as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Its id: see [`Sent::first`](crate::Sent::first).
    pub id: u32,
    /// Bytes on the wire, headers of each datagram included.
    pub bytes: u32,
    /// Datagrams on the wire.
    pub datagrams: u32,
    /// The caller's tag, see [`Datagram::tag`](crate::Datagram::tag).
    pub tag: u32,
    /// Time below the socket, in ns: by the kernel's timestamp, or until the completion was read.
    pub sojourn_ns: u64,
    /// Its completion was lost: the kernel holds no more packets of this socket, or later objects
    /// left long ago. It was sent, or dropped on the way.
    pub lost: bool,
}

/// The result of one completion batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Completed {
    /// Objects (`packets`) and bytes on the wire that completed.
    pub counts: CompletedCounts,
    /// The number of these objects whose completion was lost.
    pub lost: u32,
    /// The new quality, if it changed.
    pub quality_change: Option<CompletionQuality>,
    /// The oldest object is older than the threshold. Reported in each batch while that lasts.
    pub stalled: Option<Stall>,
    /// A clock went back: an object left before it was sent. Its sojourn is the time until the
    /// completion was read, or 0.
    pub clock_reversed: bool,
}

/// Totals of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Objects passed to the kernel.
    pub sent_objects: u64,
    /// Datagrams on the wire of the sent objects.
    pub sent_datagrams: u64,
    /// Bytes on the wire of the sent objects.
    pub sent_bytes: u64,
    /// Bytes completed, including those with a lost completion.
    pub completed_bytes: u64,
    /// Objects whose completion was lost and replaced.
    pub lost_completions: u64,
    /// Completions of objects that had been abandoned before.
    pub stale_completions: u64,
    /// Completions with an unknown id: another user sends through a clone of the socket.
    pub unknown_completions: u64,
    /// Zero-copy notifications of objects that the kernel copied.
    pub copied: u64,
    /// Times that the sender was blocked: each attempt without room, and each task that started to
    /// wait.
    pub times_blocked: u64,
    /// Stalls, each counted once.
    pub stalls: u64,
    /// Changes of the quality.
    pub quality_changes: u64,
}
