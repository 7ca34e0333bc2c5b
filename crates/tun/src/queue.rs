//! Packets that wait, with the caller's payloads.

use slab::Slab;
use taut_path::classify::{classify_ip, mark_congestion_ip};
use taut_path::{AnyQdisc, DropReason, Ecn, Frame, Packet, PacketSink, Qdisc};

use crate::snapshot::QueueCounters;

/// A discipline, and the payload of each packet in it.
#[derive(Debug)]
pub(crate) struct PayloadQueue<T> {
    pub(crate) qdisc: AnyQdisc,
    payloads: Payloads<T>,
    overhead_bytes: u32,
}

#[derive(Debug)]
struct Payloads<T> {
    by_frame: Slab<T>,
    counters: QueueCounters,
}

impl<T> Payloads<T> {
    fn take(&mut self, packet: &Packet) -> Option<T> {
        self.by_frame.try_remove(packet.frame().index() as usize)
    }
}

impl<T> PacketSink for Payloads<T> {
    fn freed(&mut self, packet: Packet) {
        drop(self.take(&packet));
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.counters.dropped_packets += 1;
        drop(self.take(&packet));
    }

    fn marked(&mut self, _packet: &Packet) {
        self.counters.marked_packets += 1;
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> PayloadQueue<T> {
    pub(crate) fn new(qdisc: AnyQdisc, overhead_bytes: u32) -> Self {
        Self {
            qdisc,
            payloads: Payloads {
                by_frame: Slab::new(),
                counters: QueueCounters::default(),
            },
            overhead_bytes,
        }
    }

    pub(crate) fn counters(&self) -> QueueCounters {
        self.payloads.counters
    }

    /// Queues an IP packet, or drops it or others.
    pub(crate) fn push(&mut self, payload: T, now_ns: u64) {
        let bytes = payload.as_ref();
        let class = classify_ip(bytes);
        let inner_bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let wire_bytes = inner_bytes.saturating_add(self.overhead_bytes);
        self.payloads.counters.enqueued_packets += 1;
        let frame = Frame::new(self.payloads.by_frame.insert(payload) as u32);
        let mut packet = Packet::new(frame, wire_bytes);
        packet.flow = class.flow;
        packet.priority = class.priority;
        packet.set_ecn(class.ecn);
        self.qdisc.enqueue(packet, now_ns, &mut self.payloads);
    }

    /// Returns the next packet that is ready, with its ECN mark.
    pub(crate) fn pop(&mut self, now_ns: u64) -> Option<T> {
        loop {
            let packet = self.qdisc.dequeue(now_ns, &mut self.payloads)?;
            let is_marked = packet.ecn() == Ecn::Marked;
            let Some(mut payload) = self.payloads.take(&packet) else {
                continue;
            };
            if is_marked {
                mark_congestion_ip(payload.as_mut());
            }
            return Some(payload);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.qdisc.backlog().packets == 0
    }
}
