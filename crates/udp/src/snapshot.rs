//! A limited socket at one moment.

use crate::account::Totals;
use crate::events::IssueCounters;
use crate::quality::{CompletionQuality, Source};

/// The state of a limited socket, consistent at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The quality of completions.
    pub completion_quality: CompletionQuality,
    /// The source of completions.
    pub source: Source,
    /// The limit, in its units: bytes on the wire, or datagrams for a limit in packets.
    pub limit: u32,
    /// Units in flight.
    pub in_flight: u32,
    /// Bytes in flight, on the wire.
    pub in_flight_bytes: u32,
    /// Units reserved by permits and not sent yet.
    pub reserved: u32,
    /// Units per second that the path carried while it was busy; 0 if unknown.
    pub units_per_s: u64,
    /// Tasks that wait for room.
    pub waiting_tasks: usize,
    /// The socket's send buffer, in bytes of the kernel's memory.
    pub send_buffer_bytes: u32,
    /// Totals of sent and completed objects.
    pub totals: Totals,
    /// Issues so far.
    pub issues: IssueCounters,
}
