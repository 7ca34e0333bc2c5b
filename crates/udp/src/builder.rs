//! The settings of a limited socket.

use std::io;
use std::net::UdpSocket;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;

use taut_path::AnyLimit;

use crate::account::Settings;
use crate::control;
use crate::events::{Listeners, Observer};
use crate::quality::Source;
use crate::socket::LimitedUdp;
use crate::socket_options::report_errors;
use crate::state::{Sources, State};
use crate::sys;

/// Default cap, in ns. `examples/udp_sender.rs` beside six busy loops: a cap of 2 ms costs 10 % of
/// 100 Mbit/s and 25 % of 300, and 5 ms nothing.
const CAP_NS: u64 = 5_000_000;
/// Default maximum of tasks that wait for room.
const WAITERS: usize = 65_536;

/// A busy machine wakes a thread 1 ms late; twice the maximum must not overflow.
const STALL_NS: RangeInclusive<u64> = 1_000_000..=1 << 62;

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// The settings of a [`LimitedUdp`], from [`LimitedUdp::builder`].
#[must_use = "nothing happens before `build`"]
pub struct Builder {
    socket: UdpSocket,
    settings: Settings,
    cap_ns: Option<u64>,
    default_cap_ns: u64,
    sources: Sources,
    listeners: Listeners,
    errors: bool,
    waiters: usize,
}

impl Builder {
    /// Sets the rule of the limit. Default: `taut` with a [cap](Self::cap_ns) of 5 ms.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        (self.settings.limit, self.default_cap_ns) = (limit, 0);
        self
    }

    /// Sets the source of completions and removes all sources set before. Default:
    /// [`Source::Timestamps`], which costs the least. Use [`Source::ZeroCopy`] if the queue is
    /// outside this network namespace.
    pub fn source(mut self, source: Source) -> Self {
        self.sources.set(source);
        self
    }

    /// Adds a source that replaces the previous one if the kernel rejects that, or if all
    /// datagrams complete immediately for half a second. If this is so with each source, the first
    /// one is used.
    pub fn fallback_source(mut self, source: Source) -> Self {
        self.sources.add(source);
        self
    }

    /// Caps the limit at the units that the path carries in `cap_ns` at its measured rate, but
    /// never below eight full datagrams. 0: no cap; any other value is allowed. Default: 5 ms for
    /// the default rule, 0 for a [rule](Self::limit) that is set. It is added to a cap of the rule,
    /// as in `taut:2ms`: the lower one applies.
    pub fn cap_ns(mut self, cap_ns: u64) -> Self {
        self.cap_ns = Some(cap_ns);
        self
    }

    /// Sets the interval of timestamps, in ns: datagrams that the path carries within this time, at
    /// most 16, can share one. A longer interval costs fewer reads of the error queue, and
    /// completions are less exact. Default: 0.1 ms.
    pub fn timestamp_interval_ns(mut self, interval_ns: u64) -> Self {
        self.settings.timestamp_interval_ns = interval_ns;
        self
    }

    /// Sets the age of an object in flight that is a stall: 1 ms to 2^62 ns. 0 disables the
    /// detection, and the one datagram that probes the path after each threshold. Default: 1 s.
    pub fn stall_threshold_ns(mut self, threshold_ns: u64) -> Self {
        self.settings.stall_threshold_ns = threshold_ns;
        self
    }

    /// Enables `IP_RECVERR`: the kernel reports drops below the socket and unreachable peers. The
    /// next `recv` on the socket then also returns a pending error; [`LimitedUdp::recv_from`]
    /// counts it and continues. Default: on. Disable it if another reader of the socket stops at
    /// each error.
    pub fn errors(mut self, on: bool) -> Self {
        self.errors = on;
        self
    }

    /// Sets the maximum number of tasks that wait for room. One more receives an
    /// [`io::Error`] of the kind `QuotaExceeded`, which wraps
    /// [`TooManyWaiters`](crate::TooManyWaiters); with 0, each task that would wait. Default:
    /// 65,536.
    pub fn waiters(mut self, max: usize) -> Self {
        self.waiters = max;
        self
    }

    /// Sets the memory of [`Source::ZeroCopy`] in bytes; less than 128 KiB counts as 128 KiB. It
    /// should exceed the limit, because a datagram without memory blocks as at the limit. Default:
    /// 1 MiB.
    pub fn pool_bytes(mut self, bytes: usize) -> Self {
        self.sources.pool_bytes = bytes.max(128 << 10);
        self
    }

    /// Sets the observer, which receives each departure and each issue.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.listeners.observer = Some(Box::new(observer));
        self
    }

    /// Lets the kernel number the timestamps, as before Linux 6.13. For tests.
    #[doc(hidden)]
    pub fn kernel_ids(mut self) -> Self {
        self.sources.own_ids = false;
        self
    }

    /// Sets the socket's options and wraps it. Nothing is sent.
    ///
    /// # Errors
    /// - `InvalidInput` if this is not a UDP socket (IPv4 or IPv6), or a setting is out of range.
    /// - Those of `setsockopt`, with the option in the message, on a kernel without transmit
    ///   timestamps.
    /// - `OutOfMemory` for [`pool_bytes`](Self::pool_bytes).
    ///
    /// If the kernel rejects zero-copy, the next source is used, `Timestamps` by default, and the
    /// [snapshot](LimitedUdp::snapshot) counts it.
    pub fn build(mut self) -> io::Result<LimitedUdp> {
        self.check()?;
        let ipv4 = self.is_ipv4()?;
        self.sources.turn_on(&self.socket, &mut self.listeners)?;
        if self.errors {
            report_errors(&self.socket)?;
        }
        let settings = Settings {
            source: self.sources.current(),
            cap_ns: self.cap_ns.unwrap_or(self.default_cap_ns),
            ..self.settings
        };
        let (sources, listeners) = (self.sources, self.listeners);
        let state = State::new(settings, sources, listeners, ipv4, self.waiters);
        Ok(LimitedUdp::from_parts(self.socket, state))
    }

    /// Rejects invalid settings before anything is changed.
    fn check(&self) -> io::Result<()> {
        let stall_threshold_ns = self.settings.stall_threshold_ns;
        if !sys::socket::is_udp(self.socket.as_fd()) {
            return Err(wrong("not a UDP socket (IPv4 or IPv6)"));
        }
        if stall_threshold_ns != 0 && !STALL_NS.contains(&stall_threshold_ns) {
            return Err(wrong(&format!(
                "stall_threshold_ns is {stall_threshold_ns}; allowed: 0, or 1000000 to 2^62"
            )));
        }
        Ok(())
    }

    /// Returns `true` if datagrams to the default peer are IPv4 on the wire.
    fn is_ipv4(&self) -> io::Result<bool> {
        let address = match self.socket.peer_addr() {
            Ok(peer) => peer,
            Err(_) => self.socket.local_addr()?,
        };
        Ok(control::is_ipv4(address.ip()))
    }
}

impl LimitedUdp {
    /// Limits `socket` with the default settings.
    ///
    /// # Errors
    /// Those of [`Builder::build`].
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        Self::builder(socket).build()
    }

    /// Returns the default settings for `socket`.
    pub fn builder(socket: UdpSocket) -> Builder {
        Builder {
            socket,
            settings: Settings {
                limit: AnyLimit::taut(),
                ..Settings::default()
            },
            cap_ns: None,
            default_cap_ns: CAP_NS,
            sources: Sources::new(),
            listeners: Listeners::default(),
            errors: true,
            waiters: WAITERS,
        }
    }
}
