//! The runtime that creates limited sockets.

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

/// A runtime for quinn whose sockets are limited. Clones refer to the same runtime: keep one for
/// its [`stats`](Self::stats).
///
/// `R` is the runtime to wrap, in a context of tokio: [`TokioRuntime`](quinn::TokioRuntime).
#[derive(Debug)]
pub struct Limited<R> {
    shared: Arc<SharedRuntime<R>>,
}

#[derive(Debug)]
struct SharedRuntime<R> {
    runtime: R,
    settings: Settings,
    /// The most recent socket.
    socket: Mutex<Weak<Socket>>,
}

impl<R> Limited<R> {
    pub(crate) fn with_settings(runtime: R, settings: Settings) -> Self {
        Self {
            shared: Arc::new(SharedRuntime {
                runtime,
                settings,
                socket: Mutex::new(Weak::new()),
            }),
        }
    }

    /// Returns the statistics of the most recent socket, which is the one in use, also after a
    /// rebind. `None` before an endpoint was created, and after it was dropped.
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
        // quinn's own socket receives, and sets the options that it needs.
        let inner = self.shared.runtime.wrap_udp_socket(socket.try_clone()?)?;
        let socket = Arc::new(Socket::new(inner, socket, &self.shared.settings)?);
        let last = self.shared.socket.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&socket);
        self.shared
            .runtime
            .spawn(Box::pin(socket.process_notifications()));
        Ok(socket)
    }

    fn now(&self) -> Instant {
        self.shared.runtime.now()
    }
}
