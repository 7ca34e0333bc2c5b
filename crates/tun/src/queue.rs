//! Packets that wait, with the caller's payloads.

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

/// Payloads by frame.
#[derive(Debug)]
struct Payloads<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    counters: QueueCounters,
}

impl<T> Payloads<T> {
    fn put(&mut self, payload: T) -> Frame {
        self.counters.enqueued_packets += 1;
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(payload);
                Frame::new(index)
            }
            None => {
                self.slots.push(Some(payload));
                Frame::new(self.slots.len() as u32 - 1)
            }
        }
    }

    fn take(&mut self, frame: &Frame) -> Option<T> {
        let payload = self.slots.get_mut(frame.index() as usize)?.take()?;
        self.free.push(frame.index());
        Some(payload)
    }
}

impl<T> PacketSink for Payloads<T> {
    fn freed(&mut self, packet: Packet) {
        drop(self.take(packet.frame()));
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.counters.dropped_packets += 1;
        drop(self.take(packet.frame()));
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
                slots: Vec::new(),
                free: Vec::new(),
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
        let mut packet = Packet::new(self.payloads.put(payload), wire_bytes);
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
            let Some(mut payload) = self.payloads.take(packet.frame()) else {
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
