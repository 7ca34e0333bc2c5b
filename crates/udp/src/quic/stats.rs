//! Statistics of a limited endpoint.

use crate::snapshot::Snapshot;

/// Statistics of a limited socket of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Limit, bytes in flight, quality of completions, and issues.
    pub socket: Snapshot,
    /// Maximum number of datagrams of one send.
    pub send_datagrams: usize,
    /// Runs of the task that reads completions.
    pub completion_runs: u64,
    /// Sends that the kernel rejected; QUIC detects and repairs these losses.
    pub send_errors: u64,
    /// GSO was turned off, because the kernel or a device rejected it.
    pub gso_disabled: bool,
}
