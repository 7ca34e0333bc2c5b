//! What a limited endpoint did.

use taut_udp::Snapshot;

/// What a limited socket of an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Limit, what is in flight, what completions are worth, and everything that went wrong.
    pub socket: Snapshot,
    /// Datagrams that one send may have at most.
    pub send_datagrams: usize,
    /// Times that a connection had to wait for room.
    pub waits: u64,
    /// Times that the task that takes completions ran.
    pub completion_runs: u64,
    /// Sends that the kernel rejected; QUIC detects and repairs these losses.
    pub send_errors: u64,
    /// GSO was turned off, because the kernel or a device rejected it.
    pub gso_disabled: bool,
}
