//! One queue, first in, first out, bounded in packets.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::table::Make;
use super::tokens::{Parameter, Settings};
use super::{Backlog, Burst, DEFAULT_LIMIT_PACKETS, LIMIT_PACKETS, Qdisc};
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
        Self {
            packets: VecDeque::with_capacity(super::capacity(limit_packets)),
            backlog: Backlog::default(),
            limit_packets: limit_packets as usize,
        }
    }
}

impl Fifo {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Hands packets to `burst`. Returns whether it has room for more.
    #[inline]
    pub(super) fn fill(&mut self, burst: &mut dyn Burst) -> bool {
        while let Some(packet) = self.packets.pop_front() {
            self.backlog.remove(&packet);
            if !burst.push(packet) {
                return false;
            }
        }
        true
    }
}

impl Qdisc for Fifo {
    #[inline]
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.backlog.add(&packet);
        self.packets.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(&packet);
        Some(packet)
    }

    #[inline]
    fn dequeue_burst(&mut self, _now_ns: u64, burst: &mut dyn Burst) {
        self.fill(burst);
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.backlog = Backlog::default();
        self.packets.drain(..).for_each(gone);
    }

    #[inline]
    fn accepts(&self, _packet: &Packet) -> bool {
        self.packets.len() < self.limit_packets
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

/// What `pfifo` can be told.
pub(super) struct FifoSettings {
    limit_packets: u32,
}

impl Default for FifoSettings {
    fn default() -> Self {
        Self {
            limit_packets: DEFAULT_LIMIT_PACKETS,
        }
    }
}

impl Settings for FifoSettings {
    const NAME: &'static str = "pfifo";
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::value(
        "limit",
        LIMIT_PACKETS,
        |settings| Some(settings.limit_packets.into()),
        |settings, packets| settings.limit_packets = packets as u32,
    )];
}

impl Make for FifoSettings {
    fn make(self) -> Box<dyn Qdisc + Send> {
        Box::new(Fifo::new(self.limit_packets))
    }
}
