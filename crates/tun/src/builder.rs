//! The settings of a tunnel.

use std::io;
use std::ops::RangeInclusive;

use taut_path::AnyLimit;
use taut_path::AnyQdisc;
use taut_path::limit::TimeCapped;
use taut_path::qdisc::Shaped;
use taut_udp::{LimitedUdp, Source};

use crate::core::{Core, SocketSettings};
use crate::gate::Gate;
use crate::gates::Gates;
use crate::queue::PayloadQueue;
use crate::tunnel::Tunnel;

/// Cap of the default limit: as for a limited socket, a thread that wakes late must not keep more
/// than this in flight, and a slow link needs eight packets.
const CAP_NS: u64 = 5_000_000;
const MIN_CAP_BYTES: u32 = 8 * 1_514;
/// A shaper that is late catches up by this much: 1 ms suits a busy machine.
const BURST_NS: u64 = 1_000_000;
/// Maximum number of paths.
const MAX_PATHS: usize = 4_096;
/// The length of a datagram: no encapsulation adds more.
const MAX_OVERHEAD_BYTES: u32 = 65_535;
/// A busy machine wakes a thread 1 ms late; twice the maximum must not overflow.
const STALL_NS: RangeInclusive<u64> = 1_000_000..=1 << 62;

/// The settings of a [`Tunnel`], from [`Tunnel::builder`].
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `build`"]
pub struct Builder {
    qdisc: String,
    rate_bits_per_s: Option<u64>,
    limit: AnyLimit,
    overhead_bytes: u32,
    paths: usize,
    stall_threshold_ns: u64,
    socket: SocketSettings,
}

impl Default for Builder {
    fn default() -> Self {
        let capped = TimeCapped::new(AnyLimit::taut(), CAP_NS).with_floor(MIN_CAP_BYTES);
        Self {
            qdisc: "fq_codel limit 1000 ecn".to_owned(),
            rate_bits_per_s: None,
            limit: AnyLimit::new(capped),
            overhead_bytes: 60,
            paths: 1,
            stall_threshold_ns: 1_000_000_000,
            socket: SocketSettings {
                source: Source::Timestamps,
                errors: false,
            },
        }
    }
}

impl Tunnel<Vec<u8>> {
    /// Returns the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Sets the discipline of each path, such as `codel limit 100`. Default: `fq_codel limit 1000
    /// ecn`.
    pub fn qdisc(mut self, spec: &str) -> Self {
        spec.clone_into(&mut self.qdisc);
        self
    }

    /// Sets a shaper above each path, in bit/s with the overhead, at least 1. If the bottleneck is
    /// beyond this host, only a rate slightly below it helps. Default: none.
    pub fn rate_bits_per_s(mut self, rate: u64) -> Self {
        self.rate_bits_per_s = Some(rate);
        self
    }

    /// Sets the rule of the limits, in bytes. Default: `taut` with a cap of 5 ms.
    pub fn limit(mut self, limit: AnyLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the bytes that encapsulation adds to a packet, with the outer headers: 0 to 65,535.
    /// Default: 60, as WireGuard over IPv4.
    pub fn overhead_bytes(mut self, bytes: u32) -> Self {
        self.overhead_bytes = bytes;
        self
    }

    /// Sets the number of paths, 1 to 4096, each with a discipline and a limit. Default: 1.
    pub fn paths(mut self, paths: usize) -> Self {
        self.paths = paths;
        self
    }

    /// Sets the time without a departure that is a stall of the kernel: 1 ms to 2^62 ns. During a
    /// stall, one packet is released per threshold. 0 disables the detection. Default: 1 s.
    pub fn stall_threshold_ns(mut self, threshold_ns: u64) -> Self {
        self.stall_threshold_ns = threshold_ns;
        self
    }

    /// Sets the source of departures. Default: timestamps.
    pub fn source(mut self, source: Source) -> Self {
        self.socket.source = source;
        self
    }

    /// Enables reports of unreachable peers. A `recv` of the program on the same socket then also
    /// returns these errors, and must not end its loop. Default: off.
    pub fn errors(mut self, on: bool) -> Self {
        self.socket.errors = on;
        self
    }

    /// Creates the tunnel.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown discipline, a limit in packets, or a number out of its range.
    pub fn build<T: AsRef<[u8]> + AsMut<[u8]>>(self) -> io::Result<Tunnel<T>> {
        self.check()?;
        let now_ns = LimitedUdp::now_ns();
        let gate = || {
            let limit = self.limit.clone();
            Gate::new(limit, self.overhead_bytes, self.stall_threshold_ns, now_ns)
        };
        let gates = Gates::new((0..self.paths).map(|_| gate()).collect());
        let queues = (0..self.paths)
            .map(|_| self.queue())
            .collect::<io::Result<_>>()?;
        Ok(Tunnel::from_parts(Core::new(self.socket, gates), queues))
    }

    fn check(&self) -> io::Result<()> {
        let (limit, paths, overhead) = (&self.limit, self.paths, self.overhead_bytes);
        let stall_ns = self.stall_threshold_ns;
        Err(invalid(if !(1..=MAX_PATHS).contains(&paths) {
            format!("paths is {paths}; allowed: 1 to {MAX_PATHS}")
        } else if taut_path::Limit::unit(limit) != taut_path::limit::Unit::Bytes {
            format!("limit {limit} counts packets: expected one in bytes, such as taut or 40k")
        } else if overhead > MAX_OVERHEAD_BYTES {
            format!("overhead_bytes is {overhead}; allowed: 0 to {MAX_OVERHEAD_BYTES}")
        } else if stall_ns != 0 && !STALL_NS.contains(&stall_ns) {
            format!("stall_threshold_ns is {stall_ns}; allowed: 0, or 1000000 to 2^62")
        } else if self.rate_bits_per_s == Some(0) {
            "rate_bits_per_s is 0; allowed: 1 or more".to_owned()
        } else {
            return Ok(());
        }))
    }

    fn queue<T: AsRef<[u8]> + AsMut<[u8]>>(&self) -> io::Result<PayloadQueue<T>> {
        let spec = &self.qdisc;
        let qdisc: AnyQdisc = spec
            .parse()
            .map_err(|error| invalid(format!("discipline \"{spec}\": {error}")))?;
        let qdisc = match self.rate_bits_per_s {
            Some(rate) => {
                let name = format!("{qdisc} rate {rate}bit");
                AnyQdisc::new(&name, Shaped::new(qdisc, rate, BURST_NS))
            }
            None => qdisc,
        };
        Ok(PayloadQueue::new(qdisc, self.overhead_bytes))
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
