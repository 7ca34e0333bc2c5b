//! The settings of an endpoint's sockets, and the socket in use.

use std::io;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use taut_path::AnyLimit;

use crate::async_udp::AsyncUdp;
use crate::quality::Source;
use crate::quic::socket::Socket;
use crate::quic::stats::Stats;
use crate::socket::LimitedUdp;

/// Limits the sockets of an endpoint. An endpoint that is rebound has a new socket, with a limit of
/// its own. Clones share [`stats`](Self::stats): change settings before you clone, and use one
/// limiter for each endpoint.
#[derive(Debug, Clone)]
pub struct SocketLimiter {
    limit: AnyLimit,
    /// `None`: the first source that reports completions.
    source: Option<Source>,
    cap_ns: u64,
    send_ns: u64,
    last: Arc<Mutex<Weak<Socket>>>,
}

impl Default for SocketLimiter {
    fn default() -> Self {
        Self {
            limit: AnyLimit::taut(),
            source: None,
            cap_ns: 250_000,
            send_ns: 250_000,
            last: Arc::default(),
        }
    }
}

impl SocketLimiter {
    /// Creates a limiter with the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limit. Default: `taut`, because few large sends are in flight, and Linux's rule
    /// allows one more of them than the link needs. `AnyLimit::off()` leaves the
    /// [cap](Self::cap_ns) in effect, which 0 turns off.
    #[must_use]
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the only source of completions. Default: [`Source::ZeroCopy`]; if it is rejected or
    /// shows no queue, [`Source::Polled`], and then [`Source::Timestamps`].
    #[must_use]
    pub fn source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// Sets the cap: the limit is at most the amount that the path carries at the measured rate in
    /// this time, but at least eight full datagrams; 0: no cap. Default: 0.25 ms, the time of one
    /// [send](Self::send_ns), which is then queued behind the current one. At high rates,
    /// completions mostly show how late the task is woken.
    #[must_use]
    pub fn cap_ns(mut self, cap_ns: u64) -> Self {
        self.cap_ns = cap_ns;
        self
    }

    /// Sets the maximum of one send: the amount that the path carries at the measured rate in this
    /// time, but at least one datagram. An urgent packet waits for two whole sends beyond the
    /// limit: the last one, and the one that the stack has assembled. Default: 0.25 ms, because
    /// half of it doubles the work per byte at 500 Mbit/s.
    #[must_use]
    pub fn send_ns(mut self, send_ns: u64) -> Self {
        self.send_ns = send_ns;
        self
    }

    /// Limits `socket`. The stack has set the options that it needs, and receives through a clone.
    /// `max_datagrams` is the maximum of one send (GSO).
    ///
    /// # Errors
    /// Those of [`Builder::build`](crate::Builder::build) and [`AsyncUdp::new`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    #[track_caller]
    pub fn socket(&self, socket: UdpSocket, max_datagrams: usize) -> io::Result<Arc<Socket>> {
        let udp = self.async_udp(socket)?;
        let socket = Socket::new(udp, self.send_ns, max_datagrams);
        *self.last() = Arc::downgrade(&socket);
        Ok(socket)
    }

    /// Limits `socket` for a program that sends the datagrams of its stack itself: it reserves
    /// room, and then requests the next datagram. [`stats`](Self::stats) does not cover it.
    ///
    /// # Errors
    /// Those of [`Builder::build`](crate::Builder::build) and [`AsyncUdp::new`].
    ///
    /// # Panics
    /// As for [`socket`](Self::socket).
    #[track_caller]
    pub fn async_udp(&self, socket: UdpSocket) -> io::Result<AsyncUdp> {
        let builder = LimitedUdp::builder(socket)
            .limit(self.limit.clone())
            .cap_ns(self.cap_ns)
            // An error there would end a connection. The caller bounds the number of connections of
            // an endpoint.
            .waiters(usize::MAX);
        let builder = match self.source {
            Some(only) => builder.source(only),
            None => builder
                .source(Source::ZeroCopy)
                .fallback_source(Source::Polled)
                .fallback_source(Source::Timestamps),
        };
        AsyncUdp::new(builder.build()?)
    }

    /// Returns the statistics of the most recent socket, which is the one in use, also after a
    /// rebind. `None` before a socket was limited, and after it and its senders were dropped.
    pub fn stats(&self) -> Option<Stats> {
        let socket = self.last().upgrade()?;
        Some(socket.stats())
    }

    fn last(&self) -> MutexGuard<'_, Weak<Socket>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
