//! The runtime that creates limited sockets.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use taut_udp::quic::{SocketLimiter, Stats};

use crate::socket::{Owner, Socket, max_datagrams};

/// A [`TokioRuntime`] whose sockets are limited. Clones refer to the same runtime: keep one for
/// its [`stats`](Self::stats).
#[derive(Debug, Clone, Default)]
pub struct Limited {
    sockets: SocketLimiter,
}

impl Limited {
    /// Creates a runtime with the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a runtime with other settings.
    pub fn with_sockets(sockets: SocketLimiter) -> Self {
        Self { sockets }
    }

    /// Returns the statistics of the most recent socket, which is the one in use, also after a
    /// rebind. `None` before an endpoint was created, and after it was dropped.
    pub fn stats(&self) -> Option<Stats> {
        self.sockets.stats()
    }
}

impl Runtime for Limited {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Owner<dyn AsyncUdpSocket>> {
        // The stack's own socket receives, and sets the options that it needs.
        let receiver = TokioRuntime.wrap_udp_socket(socket.try_clone()?)?;
        let sender = self.sockets.socket(socket, max_datagrams(&*receiver))?;
        Ok(Owner::new(Socket { receiver, sender }))
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}
