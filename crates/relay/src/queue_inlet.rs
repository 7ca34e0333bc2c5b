//! The inlet of a direction's queue.

use taut_path::queue::NoRoom;
use taut_path::{AnyLimit, AnyQdisc, Packet, Queue};

use crate::account::{Account, RejectReason};
use crate::ends::PacketEnds;
use crate::inlet::Inlet;
use crate::parts::Parts;

/// Passes packets to the discipline while the link is up.
pub(crate) struct QueueInlet<'a, K: Parts> {
    pub queue: &'a mut Queue<K::Port, AnyLimit, AnyQdisc, K::Probe>,
    pub ends: &'a mut PacketEnds<K::Frames>,
    pub is_open: bool,
    pub now_ns: u64,
}

impl<K: Parts> Inlet for QueueInlet<'_, K> {
    type Frames = K::Frames;

    fn frames(&self) -> &K::Frames {
        &self.ends.frames
    }

    fn parts(&mut self) -> (&K::Frames, &mut Account) {
        (&self.ends.frames, &mut self.ends.account)
    }

    fn enqueue(&mut self, packet: Packet) {
        if self.is_open {
            self.queue.enqueue(packet, self.now_ns, self.ends);
        } else {
            self.ends.refused(packet, RejectReason::LinkDown);
        }
    }

    fn offer(&mut self, packet: Packet) -> Result<(), NoRoom> {
        self.queue.offer(packet, self.now_ns, self.ends)
    }

    fn waiting_packets(&self) -> u64 {
        self.queue.backlog().packets
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}
