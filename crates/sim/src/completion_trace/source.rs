//! The workload of a trace: a discipline that stores only a number of objects.

use std::cell::Cell;
use std::rc::Rc;

use taut_path::qdisc::Backlog;
use taut_path::{DropReason, Frame, Packet, PacketSink, Qdisc};

/// Number of queued objects, shared by the runner, which adds to it, and the discipline.
#[derive(Debug, Clone)]
pub(crate) struct Waiting(Rc<Cell<u64>>);

/// A saturating sender.
const ALWAYS: u64 = u64::MAX;

impl Waiting {
    pub(crate) fn always() -> Self {
        Self(Rc::new(Cell::new(ALWAYS)))
    }

    pub(crate) fn nothing() -> Self {
        Self(Rc::new(Cell::new(0)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    pub(crate) fn add(&self, objects: u64) {
        self.0.set(self.0.get().saturating_add(objects));
    }

    fn take(&self) -> bool {
        match self.0.get() {
            0 => false,
            ALWAYS => true,
            waiting => {
                self.0.set(waiting - 1);
                true
            }
        }
    }
}

/// Returns objects of the trace's sizes in turn while any are queued.
pub(crate) struct TraceSource {
    waiting: Waiting,
    sizes: Vec<u32>,
    next: usize,
}

impl TraceSource {
    pub(crate) fn new(waiting: Waiting, sizes: Vec<u32>) -> Self {
        Self {
            waiting,
            sizes,
            next: 0,
        }
    }
}

impl Qdisc for TraceSource {
    /// Drops the packet: all objects come from the trace.
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        sink.dropped(packet, DropReason::QueueFull);
    }

    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        if !self.waiting.take() {
            return None;
        }
        let bytes = self.sizes[self.next];
        self.next += 1;
        if self.next == self.sizes.len() {
            self.next = 0;
        }
        Some(Packet::new(Frame::new(0), bytes))
    }

    /// Does nothing: the backlog is a number, without packets to return.
    fn drain(&mut self, _gone: &mut dyn FnMut(Packet)) {
        self.waiting.0.set(0);
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        false
    }

    fn backlog(&self) -> Backlog {
        let packets = self.waiting.0.get();
        Backlog {
            packets,
            bytes: packets.saturating_mul(self.sizes[self.next].into()),
        }
    }
}
