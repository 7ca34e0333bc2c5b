//! The limited socket, as the endpoint's socket, its pollers and the completion task use it.

use std::sync::atomic::{AtomicBool, AtomicU64};

use taut_udp::LimitedUdp;
use taut_udp::async_udp::AsyncUdp;
use tokio::sync::Notify;

/// Everything that outlives the endpoint's socket for a moment: the completion task holds it until
/// the socket is closed.
#[derive(Debug)]
pub(crate) struct SharedSocket {
    pub(crate) socket: AsyncUdp,
    /// Wakes the completion task, which sleeps long while nothing is in flight: a datagram was
    /// sent, or the socket was closed.
    pub(crate) wake: Notify,
    pub(crate) is_closed: AtomicBool,
    pub(crate) completion_runs: AtomicU64,
    pub(crate) waits: AtomicU64,
}

impl SharedSocket {
    pub(crate) fn new(socket: AsyncUdp) -> Self {
        Self {
            socket,
            wake: Notify::new(),
            is_closed: AtomicBool::new(false),
            completion_runs: AtomicU64::new(0),
            waits: AtomicU64::new(0),
        }
    }

    pub(crate) fn limited(&self) -> &LimitedUdp {
        self.socket.limited()
    }
}
