//! A limited socket at one moment.

use crate::account::{Source, Totals};
use crate::events::IssueCounters;
use crate::quality::CompletionQuality;

/// A look at a limited socket; each field true, the set of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// What completions are worth.
    pub completion_quality: CompletionQuality,
    /// Where they come from.
    pub source: Source,
    /// The limit, in its units: bytes on the wire, or packets.
    pub limit: u32,
    /// In flight, in the limit's units.
    pub in_flight: u32,
    /// In flight, in bytes on the wire.
    pub in_flight_bytes: u32,
    /// What the path moved while it was busy, in the limit's units a second; 0 while not known.
    pub rate: u64,
    /// Tasks that wait for room.
    pub waiting: usize,
    /// The socket's send buffer, in bytes of the kernel's memory.
    pub send_buffer_bytes: u32,
    /// What was sent and completed.
    pub totals: Totals,
    /// What went wrong.
    pub issues: IssueCounters,
}
