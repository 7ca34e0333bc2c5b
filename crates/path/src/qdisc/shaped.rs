//! A rate above whatever is below: bytes leave a discipline no faster than they are let.

use super::seam::{Backlog, Qdisc, RequeueSupport};
use crate::packet::{Packet, PacketSink};

const NS_PER_S: u64 = 1_000_000_000;
const BITS_PER_BYTE: u64 = 8;

/// Any discipline behind a software shaper, for a link whose slowest part is further away than the
/// device (a modem): set a little below its rate, what waits is here and can be sorted.
///
/// Counts a packet's own bytes ([`Packet::wire_bytes`]), as `tbf` does: an Ethernet frame without
/// preamble, check sum and gap.
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
    /// When the next packet may leave, in ns.
    ready_ns: u64,
    /// What is left of the last division, in parts of a rate: nothing is rounded away.
    remainder: u64,
    /// What these two were before the last packet, and its bytes.
    before: (u64, u64),
    last_bytes: u32,
}

impl<Q: Qdisc> Shaped<Q> {
    /// Lets `inner` go at `rate_bits_per_s` (0 counts as 1). Whoever comes late to a packet that was
    /// ready may catch up with `burst_ns` of link time, and no more: 1 ms is what a busy machine
    /// needs.
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

    /// The discipline behind it.
    pub fn inner(&self) -> &Q {
        &self.inner
    }

    /// Takes the time of `bytes` from the link.
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

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.inner.drain(gone);
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
