//! A software shaper: a discipline that releases bytes at a limited rate.

use super::seam::{Backlog, Qdisc, RequeueSupport};
use crate::packet::{Packet, PacketSink};

const NS_PER_S: u64 = 1_000_000_000;
const BITS_PER_BYTE: u64 = 8;

/// Any discipline behind a software shaper, for a path whose bottleneck is beyond the device (a
/// modem). With a rate slightly below the bottleneck, packets wait here, where the discipline can
/// reorder them.
///
/// Counts a packet's own bytes ([`Packet::wire_bytes`]), as `tbf` does: an Ethernet frame without
/// preamble, check sequence and gap.
///
/// ```
/// use taut_path::qdisc::{AnyQdisc, Shaped};
/// let inner: AnyQdisc = "fq_codel ecn".parse()?;
/// let shaped = Shaped::new(inner, 20_000_000, 1_000_000);
/// let qdisc = AnyQdisc::new("fq_codel behind 20mbit", shaped);
/// # Ok::<(), taut_path::qdisc::ParseQdiscError>(())
/// ```
#[derive(Debug)]
pub struct Shaped<Q> {
    inner: Q,
    rate_bits_per_s: u64,
    burst_ns: u64,
    /// Time at which the next packet may leave, in ns.
    ready_ns: u64,
    /// Remainder of the last division, in parts of a rate, so that no rounding error accumulates.
    remainder: u64,
    /// The previous values of these two, and the bytes of the last packet.
    before: (u64, u64),
    last_bytes: u32,
}

impl<Q: Qdisc> Shaped<Q> {
    /// Wraps `inner` with a rate of `rate_bits_per_s` (0 counts as 1). A caller that is late for a
    /// packet may catch up by `burst_ns` of link time, at most: 1 ms suits a busy machine.
    pub fn new(inner: Q, rate_bits_per_s: u64, burst_ns: u64) -> Self {
        Self {
            inner,
            rate_bits_per_s: rate_bits_per_s.max(1),
            burst_ns,
            ready_ns: 0,
            remainder: 0,
            before: (0, 0),
            last_bytes: 0,
        }
    }

    /// Returns the inner discipline.
    pub fn inner(&self) -> &Q {
        &self.inner
    }

    /// Uses the link time of `bytes`.
    fn spend(&mut self, bytes: u32, now_ns: u64) {
        let from_ns = self.ready_ns.max(now_ns.saturating_sub(self.burst_ns));
        if from_ns > self.ready_ns {
            self.remainder = 0;
        }
        let bits_ns = u128::from(bytes) * u128::from(BITS_PER_BYTE * NS_PER_S);
        let due = bits_ns + u128::from(self.remainder);
        let rate = u128::from(self.rate_bits_per_s);
        self.remainder = (due % rate) as u64;
        let spent_ns = u64::try_from(due / rate).unwrap_or(u64::MAX);
        self.ready_ns = from_ns.saturating_add(spent_ns);
    }
}

impl<Q: Qdisc> Qdisc for Shaped<Q> {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.inner.enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        if now_ns < self.ready_ns {
            return None;
        }
        let packet = self.inner.dequeue(now_ns, sink)?;
        self.before = (self.ready_ns, self.remainder);
        self.last_bytes = packet.wire_bytes();
        self.spend(packet.wire_bytes(), now_ns);
        Some(packet)
    }

    fn requeue_support(&self) -> RequeueSupport {
        match self.inner.requeue_support() {
            RequeueSupport::None => RequeueSupport::None,
            // The remainder waits for the link like any packet.
            RequeueSupport::InTurn | RequeueSupport::Next => RequeueSupport::InTurn,
        }
    }

    fn requeue(&mut self, remainder: Packet, unsent_bytes: u32, now_ns: u64) -> Result<(), Packet> {
        (self.ready_ns, self.remainder) = self.before;
        self.spend(self.last_bytes.saturating_sub(unsent_bytes), now_ns);
        self.inner.requeue(remainder, unsent_bytes, now_ns)
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.inner.drain(on_packet);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.inner.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn max_packets(&self) -> Option<u32> {
        self.inner.max_packets()
    }

    fn next_ready(&self, now_ns: u64) -> Option<u64> {
        if self.inner.backlog().packets == 0 {
            return None;
        }
        let own_ns = Some(self.ready_ns).filter(|&ready_ns| now_ns < ready_ns);
        let inner_ns = self.inner.next_ready(now_ns);
        own_ns.max(inner_ns)
    }
}
