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
    pub news: u64,
    /// Sends that the kernel refused, which QUIC finds out and repairs.
    pub refused: u64,
    /// GSO was turned off, because the kernel or a device refused it.
    pub gso_refused: bool,
}
