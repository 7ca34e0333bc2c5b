//! The runtime that makes limited sockets.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime};

use crate::settings::Settings;
use crate::socket::Socket;
use crate::stats::Stats;

/// A runtime for quinn whose sockets are limited. Clones are the same: keep one for its
/// [`stats`](Self::stats).
///
/// `R` is what quinn runs on without it, in a context of tokio:
/// [`TokioRuntime`](quinn::TokioRuntime).
#[derive(Debug)]
pub struct Limited<R> {
    shared: Arc<Shared<R>>,
}

#[derive(Debug)]
struct Shared<R> {
    runtime: R,
    settings: Settings,
    /// The socket that was made last.
    socket: Mutex<Weak<Socket>>,
}

impl<R> Limited<R> {
    pub(crate) fn with_settings(runtime: R, settings: Settings) -> Self {
        Self {
            shared: Arc::new(Shared {
                runtime,
                settings,
                socket: Mutex::new(Weak::new()),
            }),
        }
    }

    /// What the socket that was made last does: the one in use, also after a rebinding. `None`
    /// before an endpoint was made, and after it is gone.
    pub fn stats(&self) -> Option<Stats> {
        let last = self.shared.socket.lock();
        let socket = last.unwrap_or_else(PoisonError::into_inner).upgrade()?;
        Some(socket.stats())
    }
}

impl<R> Clone for Limited<R> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<R: Runtime> Runtime for Limited<R> {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.shared.runtime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.shared.runtime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        // quinn's own socket receives, and sets the options that it wants.
        let inner = self.shared.runtime.wrap_udp_socket(socket.try_clone()?)?;
        let socket = Arc::new(Socket::new(inner, socket, &self.shared.settings)?);
        let last = self.shared.socket.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&socket);
        self.shared.runtime.spawn(Box::pin(socket.news()));
        Ok(socket)
    }

    fn now(&self) -> Instant {
        self.shared.runtime.now()
    }
}
