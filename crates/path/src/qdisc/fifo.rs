//! One queue, first in, first out, bounded in packets.

use super::bounded_ring::{BoundedRing, capacity};
use super::seam::{Backlog, Burst, Qdisc, RequeueSupport};
use crate::packet::{DropReason, Packet, PacketSink};

/// `pfifo`: one queue; a packet above the limit is dropped at the tail.
#[derive(Debug)]
pub struct Fifo {
    packets: BoundedRing<Packet>,
    bytes: u64,
    limit_packets: usize,
}

impl Fifo {
    /// A queue for at most `limit_packets` packets, clamped to 1,000,000; 0 drops every packet.
    pub fn new(limit_packets: u32) -> Self {
        Self {
            packets: BoundedRing::new(capacity(limit_packets)),
            bytes: 0,
            limit_packets: capacity(limit_packets),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Removes the first packet of a queue that is not empty.
    #[inline(always)]
    pub(super) fn take_first(&mut self) -> Packet {
        let packet = self.packets.take_first();
        self.bytes -= u64::from(packet.wire_bytes());
        packet
    }
}

impl Qdisc for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        // Read in place, because a value that is moved as a whole is moved in two steps.
        self.bytes -= u64::from(self.packets.first_mut()?.wire_bytes());
        Some(self.packets.take_first())
    }

    #[inline(always)]
    fn dequeue_burst(&mut self, _now_ns: u64, burst: &mut dyn Burst) {
        while !self.is_empty() && burst.push(self.take_first()) {}
    }

    #[inline]
    fn requeue_support(&self) -> RequeueSupport {
        RequeueSupport::Next
    }

    fn requeue(
        &mut self,
        remainder: Packet,
        _unsent_bytes: u32,
        _now_ns: u64,
    ) -> Result<(), Packet> {
        self.bytes += u64::from(remainder.wire_bytes());
        self.packets.put_back(remainder);
        Ok(())
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        // Counted before the call, because the sink might panic.
        while let Some(packet) = self.packets.pop() {
            self.bytes -= u64::from(packet.wire_bytes());
            on_packet(packet);
        }
    }

    #[inline]
    fn accepts(&self, _packet: &Packet) -> bool {
        self.packets.len() < self.limit_packets
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }

    fn max_packets(&self) -> Option<u32> {
        Some(self.limit_packets as u32)
    }
}
