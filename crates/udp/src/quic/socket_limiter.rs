//! Limits the sockets of an endpoint.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use taut_path::AnyLimit;

use crate::async_udp::AsyncUdp;
use crate::quality::Source;
use crate::quic::shared::EndpointSocket;
use crate::quic::socket::Socket;
use crate::quic::stats::Stats;
use crate::socket::LimitedUdp;

/// The settings of each limited socket.
#[derive(Debug, Clone)]
pub(super) struct EndpointSettings {
    pub(super) limit: AnyLimit,
    /// `None`: the first source that reports completions.
    pub(super) source: Option<Source>,
    pub(super) cap_ns: u64,
    pub(super) send_ns: u64,
}

/// Limits the sockets of an endpoint. An endpoint that is rebound has a new socket, with a limit of
/// its own. Clones refer to the same endpoint.
#[derive(Debug, Clone)]
pub struct SocketLimiter {
    settings: Arc<EndpointSettings>,
    last: Arc<Mutex<Weak<EndpointSocket>>>,
}

impl From<((), Self)> for SocketLimiter {
    fn from(((), sockets): ((), Self)) -> Self {
        sockets
    }
}

impl SocketLimiter {
    pub(super) fn new(settings: EndpointSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            last: Arc::default(),
        }
    }

    /// Limits `socket`. The stack has set the options that it needs, and receives through a clone.
    /// `max_datagrams` is the maximum of one send (GSO).
    ///
    /// # Errors
    /// Those of [`AsyncUdp::build`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    #[track_caller]
    pub fn limit(&self, socket: UdpSocket, max_datagrams: usize) -> io::Result<Socket> {
        let socket = self.async_udp(socket)?;
        let send_ns = self.settings.send_ns;
        let shared = Arc::new(EndpointSocket::new(socket, send_ns, max_datagrams));
        *self.last() = Arc::downgrade(&shared);
        Ok(Socket::new(shared))
    }

    /// Limits `socket` for a program that sends the datagrams of its stack itself: it reserves
    /// room, and then requests the next datagram. [`stats`](Self::stats) does not cover it.
    ///
    /// # Errors
    /// Those of [`AsyncUdp::build`].
    ///
    /// # Panics
    /// As for [`limit`](Self::limit).
    #[track_caller]
    pub fn async_udp(&self, socket: UdpSocket) -> io::Result<AsyncUdp> {
        let settings = &self.settings;
        let builder = LimitedUdp::builder(socket)
            .limit(settings.limit.clone())
            .cap_ns(settings.cap_ns)
            // An error there would end a connection. The caller bounds the number of connections of
            // an endpoint.
            .waiters(usize::MAX);
        let builder = match settings.source {
            Some(only) => builder.source(only),
            None => builder
                .source(Source::ZeroCopy)
                .fallback_source(Source::Polled)
                .fallback_source(Source::Timestamps),
        };
        AsyncUdp::build(builder)
    }

    /// Returns the statistics of the most recent socket, which is the one in use, also after a
    /// rebind. `None` before a socket was limited, and after it was dropped.
    pub fn stats(&self) -> Option<Stats> {
        let socket = self.last().upgrade()?;
        (!socket.is_closed.load(Relaxed)).then(|| socket.stats())
    }

    fn last(&self) -> MutexGuard<'_, Weak<EndpointSocket>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
