//! The workload of a trace: a discipline that stores only a number of objects.

use std::cell::Cell;

use taut_path::qdisc::Backlog;
use taut_path::{DropReason, Frame, Packet, PacketSink, Qdisc};

/// The backlog of a saturating sender, in objects: it never decreases.
pub(super) const SATURATED: u64 = u64::MAX;

/// Returns objects of the given sizes in turn while any are queued.
pub(super) struct TraceSource {
    /// Number of queued objects. The owner of the queue adds to it.
    objects: Cell<u64>,
    sizes: Vec<u32>,
    next: usize,
}

impl TraceSource {
    /// Queues `objects` of these sizes, in bytes.
    pub(super) fn new(objects: u64, sizes: Vec<u32>) -> Self {
        Self {
            objects: Cell::new(objects),
            sizes,
            next: 0,
        }
    }

    /// Queues further objects.
    pub(super) fn add(&self, objects: u64) {
        self.objects.set(self.objects.get().saturating_add(objects));
    }
}

impl Qdisc for TraceSource {
    /// Drops the packet: all objects come from the trace.
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        sink.dropped(packet, DropReason::QueueFull);
    }

    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        match self.objects.get() {
            0 => return None,
            SATURATED => {}
            objects => self.objects.set(objects - 1),
        }
        let bytes = self.sizes[self.next];
        self.next += 1;
        if self.next == self.sizes.len() {
            self.next = 0;
        }
        Some(Packet::new(Frame::new(0), bytes))
    }

    /// Returns no packets: the backlog is only a number.
    fn drain(&mut self, _gone: &mut dyn FnMut(Packet)) {
        self.objects.set(0);
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        false
    }

    fn backlog(&self) -> Backlog {
        let packets = self.objects.get();
        Backlog {
            packets,
            bytes: packets.saturating_mul(self.sizes[self.next].into()),
        }
    }
}
