//! One queue, first in, first out, bounded in packets.

use alloc::collections::VecDeque;

use super::{Backlog, Qdisc};
use crate::packet::{DropReason, Packet, PacketSink};

/// `pfifo`: one queue; a packet over the limit is dropped at the tail.
#[derive(Debug)]
pub struct Fifo {
    packets: VecDeque<Packet>,
    backlog: Backlog,
    limit_packets: usize,
}

impl Fifo {
    /// A queue for at most `limit_packets` packets.
    pub fn new(limit_packets: u32) -> Self {
        let limit_packets = limit_packets as usize;
        Self {
            packets: VecDeque::new(),
            backlog: Backlog::default(),
            limit_packets,
        }
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.backlog.add(&packet);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(&packet);
        Some(packet)
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        self.packets.len() < self.limit_packets
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
