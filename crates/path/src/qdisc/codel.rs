//! CoDel on a single queue.

use super::bounded_ring::{BoundedRing, capacity};
use super::codel_state::{CodelConfig, CodelRule, CodelState, Waiting};
use super::seam::{Backlog, Qdisc, RequeueSupport};
use crate::packet::{DropReason, Packet, PacketSink};

/// `codel`: one queue, first in, first out, that drops or marks packets that waited too long.
#[derive(Debug)]
pub struct Codel {
    queue: TimedRing,
    state: CodelState,
    rule: CodelRule,
    limit_packets: usize,
    /// CoDel has already decided about the first packet: it is a remainder.
    first_is_remainder: bool,
}

/// Packets and their enqueue times, in separate rings: together they would be less aligned than the
/// instructions that move them need.
#[derive(Debug)]
struct TimedRing {
    packets: BoundedRing<Packet>,
    since_ns: BoundedRing<u64>,
    bytes: u64,
}

impl Codel {
    /// A queue for at most `limit_packets` packets, clamped to 1,000,000; 0 drops every packet.
    pub fn new(limit_packets: u32, config: CodelConfig) -> Self {
        Self {
            queue: TimedRing {
                packets: BoundedRing::new(capacity(limit_packets)),
                since_ns: BoundedRing::new(capacity(limit_packets)),
                bytes: 0,
            },
            state: CodelState::default(),
            rule: CodelRule::new(config),
            limit_packets: capacity(limit_packets),
            first_is_remainder: false,
        }
    }
}

impl Waiting for TimedRing {
    fn oldest(&mut self) -> Option<(&mut Packet, u64)> {
        Some((self.packets.first_mut()?, *self.since_ns.first_mut()?))
    }

    fn pop(&mut self) -> Option<Packet> {
        // Read in place, because a value that is moved as a whole is moved in two steps.
        self.bytes -= u64::from(self.packets.first_mut()?.wire_bytes());
        self.since_ns.take_first();
        Some(self.packets.take_first())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Qdisc for Codel {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.queue.bytes += u64::from(packet.wire_bytes());
        self.queue.since_ns.push(now_ns);
        self.queue.packets.push(packet);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        if !core::mem::take(&mut self.first_is_remainder) {
            self.state.judge(&self.rule, now_ns, &mut self.queue, sink);
        }
        self.queue.pop()
    }

    fn requeue_support(&self) -> RequeueSupport {
        RequeueSupport::InTurn
    }

    fn requeue(
        &mut self,
        remainder: Packet,
        _unsent_bytes: u32,
        now_ns: u64,
    ) -> Result<(), Packet> {
        self.first_is_remainder = true;
        self.queue.bytes += u64::from(remainder.wire_bytes());
        // This time is never read: CoDel does not decide about a remainder again.
        self.queue.since_ns.put_back(now_ns);
        self.queue.packets.put_back(remainder);
        Ok(())
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.state.forget();
        self.first_is_remainder = false;
        while let Some(packet) = self.queue.pop() {
            on_packet(packet);
        }
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        self.queue.packets.len() < self.limit_packets
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.packets.len() as u64,
            bytes: self.queue.bytes,
        }
    }

    fn max_packets(&self) -> Option<u32> {
        Some(self.limit_packets as u32)
    }
}
