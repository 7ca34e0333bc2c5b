//! The runtime that creates limited sockets.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime};
use taut_udp::quic::{SocketLimiter, Stats};

use crate::socket::{Owner, Socket, max_datagrams};

/// A runtime whose sockets are limited. Clones refer to the same runtime: keep one for
/// its [`stats`](Self::stats).
///
/// `R` is the runtime to wrap, in a context of tokio: [`TokioRuntime`](quinn::TokioRuntime).
#[derive(Debug)]
pub struct Limited<R> {
    runtime: Arc<R>,
    sockets: SocketLimiter,
}

impl<R> Limited<R> {
    /// Creates a runtime with the default settings.
    pub fn new(runtime: R) -> Self {
        Self::with_sockets(runtime, SocketLimiter::new())
    }

    /// Creates a runtime with other settings.
    pub fn with_sockets(runtime: R, sockets: SocketLimiter) -> Self {
        let runtime = Arc::new(runtime);
        Self { runtime, sockets }
    }

    /// Returns the statistics of the most recent socket, which is the one in use, also after a
    /// rebind. `None` before an endpoint was created, and after it was dropped.
    pub fn stats(&self) -> Option<Stats> {
        self.sockets.stats()
    }
}

impl<R> Clone for Limited<R> {
    fn clone(&self) -> Self {
        let (runtime, sockets) = (Arc::clone(&self.runtime), self.sockets.clone());
        Self { runtime, sockets }
    }
}

impl<R: Runtime> Runtime for Limited<R> {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.runtime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.runtime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Owner<dyn AsyncUdpSocket>> {
        // The stack's own socket receives, and sets the options that it needs.
        let receiver = self.runtime.wrap_udp_socket(socket.try_clone()?)?;
        let sender = self.sockets.socket(socket, max_datagrams(&*receiver))?;
        Ok(Owner::new(Socket { receiver, sender }))
    }

    fn now(&self) -> Instant {
        self.runtime.now()
    }
}
