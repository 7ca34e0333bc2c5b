//! What a limited socket is made with.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;

use taut_path::{AnyLimit, Probe};

use crate::account::{Settings, Source};
use crate::events::{Observer, SocketIssue};
use crate::socket::LimitedUdp;
use crate::socket_options::tell_errors;
use crate::state::{Setup, SourceInUse, Sources, State, ready};
use crate::sys;

/// Default cap, in ns. `examples/udp_sender.rs` beside six busy loops: a cap of 2 ms costs 10 % of
/// 100 Mbit/s and 25 % of 300, and 5 ms nothing.
const CAP_NS: u64 = 5_000_000;
/// Default of the tasks that may wait for room at a time.
const WAITERS: usize = 65_536;
/// Default pages for zero-copy: more than any limit, twice 64 KB.
const POOL_BYTES: usize = 1 << 20;

/// A look costs two system calls, and a socket that nobody looks at for longer hangs.
const POLL_NS: RangeInclusive<u64> = 10_000..=1_000_000_000;
/// A busy machine wakes a thread so late; twice the most must not overflow.
const STALL_NS: RangeInclusive<u64> = 1_000_000..=1 << 62;

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Settings of a [`LimitedUdp`]; from [`LimitedUdp::builder`].
#[must_use = "nothing happens before `build`"]
pub struct Builder {
    socket: UdpSocket,
    settings: Settings,
    limit: Option<AnyLimit>,
    cap_ns: Option<u64>,
    sources: Vec<Source>,
    sched_timestamps: bool,
    errors: bool,
    own_ids: bool,
    waiters: usize,
    pool_bytes: usize,
    observer: Option<Box<dyn Observer>>,
    probe: Option<Box<dyn Probe + Send>>,
}

impl Builder {
    fn new(socket: UdpSocket) -> Self {
        Self {
            socket,
            settings: Settings::default(),
            limit: None,
            cap_ns: None,
            sources: vec![Source::Timestamps],
            sched_timestamps: false,
            errors: true,
            own_ids: true,
            waiters: WAITERS,
            pool_bytes: POOL_BYTES,
            observer: None,
            probe: None,
        }
    }

    /// Sets the rule of the limit. Default: `taut` with a [cap](Self::cap_ns) of 5 ms.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Where completions come from. Default: stamps, which cost the least and are exact; zero-copy
    /// where the queue is beyond this network namespace. Takes the place of all that were said
    /// before.
    pub fn source(mut self, source: Source) -> Self {
        self.sources = vec![source];
        self
    }

    /// Where completions come from if the source that was said last is refused by the kernel, or
    /// tells nothing for half a second: all completes at once, whatever is sent. If none of them
    /// tells anything, the first is watched.
    pub fn fallback_source(mut self, source: Source) -> Self {
        if !self.sources.contains(&source) {
            self.sources.push(source);
        }
        self
    }

    /// Caps the limit at the units that the path moves in `cap_ns` at its measured rate, but never
    /// below eight full datagrams. 0: no cap. Default: 5 ms for the default rule, 0 for a rule that
    /// is set.
    pub fn cap_ns(mut self, cap_ns: u64) -> Self {
        self.cap_ns = Some(cap_ns);
        self
    }

    /// Between two looks at the level, for [`Source::Polled`]: 0.01 ms to 1 s. Default 1 ms.
    pub fn poll_ns(mut self, poll_ns: u64) -> Self {
        self.settings.poll_ns = poll_ns;
        self
    }

    /// An object that is in flight for longer is a stall: 1 ms to 2^62 ns; 0 turns the watch off,
    /// and with it the one datagram that is let through each threshold. Default 1 s.
    pub fn stall_threshold_ns(mut self, threshold_ns: u64) -> Self {
        self.settings.stall_threshold_ns = threshold_ns;
        self
    }

    /// Asks for a stamp where a datagram enters the discipline, too, so that each
    /// [`Departure`](crate::Departure) has the exact time in it. Costs a second entry of the error
    /// queue for each datagram. Default off.
    pub fn sched_timestamps(mut self, on: bool) -> Self {
        self.sched_timestamps = on;
        self
    }

    /// Turns on `IP_RECVERR`: drops below the socket and unreachable peers are told. A pending
    /// error is then also the answer of the next `recv` on the socket; [`LimitedUdp::recv_from`]
    /// counts it and reads on. Default on; turn it off where something else reads from the socket
    /// and takes every error for its end.
    pub fn errors(mut self, on: bool) -> Self {
        self.errors = on;
        self
    }

    /// How many tasks may wait for room at a time. One more gets
    /// [`TooManyWaiters`](crate::TooManyWaiters) from [`LimitedUdp::poll_room`], and an error of
    /// the kind `QuotaExceeded` from the futures of `tokio`. Default 65,536.
    pub fn waiters(mut self, most: usize) -> Self {
        self.waiters = most;
        self
    }

    /// Pages for [`Source::ZeroCopy`], in bytes; less than 128 KB is taken as that. Give it more
    /// than the limit: what finds no room in it waits as for the limit. Default 1 MB.
    pub fn pool_bytes(mut self, bytes: usize) -> Self {
        self.pool_bytes = bytes.max(128 << 10);
        self
    }

    /// Hears of each departure and of each issue.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Hears what every queue tells: what completed, the limit, stops, stalls.
    pub fn probe(mut self, probe: impl Probe + Send + 'static) -> Self {
        self.probe = Some(Box::new(probe));
        self
    }

    /// Leaves the numbers of stamps to the kernel, as before Linux 6.13. For tests.
    #[doc(hidden)]
    pub fn kernel_ids(mut self) -> Self {
        self.own_ids = false;
        self
    }

    /// Sets the socket's options and wraps it. Nothing is sent.
    ///
    /// # Errors
    /// `InvalidInput` if it is no UDP socket over IPv4 or IPv6, or a setting is out of its range.
    /// Those of `setsockopt`, with the option in the message: a kernel without transmit stamps.
    /// `OutOfMemory` for [`pool_bytes`](Self::pool_bytes). A kernel that refuses zero-copy is no
    /// error: the next source is taken, stamps if none was said, and the
    /// [snapshot](LimitedUdp::snapshot) says so.
    pub fn build(self) -> io::Result<LimitedUdp> {
        self.check()?;
        let ipv4 = self.is_ipv4()?;
        let (source, refused) = self.take_source()?;
        if self.errors {
            tell_errors(&self.socket)?;
        }
        let default_cap_ns = if self.limit.is_some() { 0 } else { CAP_NS };
        let mut state = State::new(Setup {
            settings: Settings {
                source: source.current(),
                cap_ns: self.cap_ns.unwrap_or(default_cap_ns),
                limit: self.limit.unwrap_or_else(AnyLimit::taut),
                ..self.settings
            },
            source,
            ipv4,
            waiters: self.waiters,
            observer: self.observer,
            probe: self.probe,
        });
        if refused {
            state.issue(SocketIssue::ZeroCopyRefused);
        }
        Ok(LimitedUdp::from_parts(self.socket, state))
    }

    /// Turns the first source on that the kernel has, and returns whether it rejected zero-copy.
    fn take_source(&self) -> io::Result<(SourceInUse, bool)> {
        let mut order = Sources::new(self.sources.clone());
        let turn_on = |source| ready(source, &self.socket, self.pool_bytes, self.sched_timestamps);
        let (ready, refused) = match turn_on(order.current())? {
            Some(ready) => (Some(ready), false),
            None => {
                order.refuse_zero_copy();
                (turn_on(order.current())?, true)
            }
        };
        // The kernel can reject only zero-copy, which is no longer among the sources.
        let ready = ready.ok_or(io::ErrorKind::Unsupported)?;
        let (pool_bytes, sched_timestamps) = (self.pool_bytes, self.sched_timestamps);
        let source = SourceInUse::new(order, ready, pool_bytes, sched_timestamps, self.own_ids);
        Ok((source, refused))
    }

    /// Says what cannot be meant, before anything is changed.
    fn check(&self) -> io::Result<()> {
        let Settings {
            poll_ns,
            stall_threshold_ns,
            ..
        } = self.settings;
        if !sys::socket::is_udp(self.socket.as_fd()) {
            return Err(wrong("it is no socket for UDP over IPv4 or IPv6"));
        }
        if !POLL_NS.contains(&poll_ns) {
            return Err(wrong("poll_ns must be 10,000 to 1,000,000,000"));
        }
        if stall_threshold_ns != 0 && !STALL_NS.contains(&stall_threshold_ns) {
            return Err(wrong("stall_threshold_ns must be 0, or 1,000,000 to 2^62"));
        }
        Ok(())
    }

    /// Whether what the socket sends by default is IPv4 on the wire.
    fn is_ipv4(&self) -> io::Result<bool> {
        let address = match self.socket.peer_addr() {
            Ok(peer) => peer,
            Err(_) => self.socket.local_addr()?,
        };
        Ok(match address {
            SocketAddr::V4(_) => true,
            SocketAddr::V6(address) => address.ip().to_ipv4_mapped().is_some(),
        })
    }
}

impl LimitedUdp {
    /// Puts `socket` under the default limit, with transmit stamps.
    ///
    /// # Errors
    /// Those of [`Builder::build`].
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        Self::builder(socket).build()
    }

    /// Settings for `socket`.
    pub fn builder(socket: UdpSocket) -> Builder {
        Builder::new(socket)
    }
}
