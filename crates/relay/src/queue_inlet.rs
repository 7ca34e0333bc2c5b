//! The queue of a direction: its inlet for sources, and the sink in which its packets end.

use std::collections::BTreeSet;

use taut_path::queue::NoRoom;
use taut_path::{AnyLimit, AnyQdisc, DropReason, Packet, PacketSink, Queue};

use crate::account::{Account, RejectReason};
use crate::inlet::Inlet;
use crate::latency::Latency;
use crate::parts::Parts;

/// The queue of a direction.
pub type DirectionQueue<K> = Queue<<K as Parts>::Port, AnyLimit, AnyQdisc, <K as Parts>::Probe>;

/// Passes packets to the discipline while the link is up.
pub(crate) struct QueueInlet<K: Parts> {
    pub queue: DirectionQueue<K>,
    pub ends: PacketEnds<K::Frames>,
    /// The link is up and the ring is open.
    pub is_open: bool,
}

impl<K: Parts> Inlet for QueueInlet<K> {
    type Frames = K::Frames;

    fn frames(&self) -> &K::Frames {
        &self.ends.frames
    }

    fn parts(&mut self) -> (&K::Frames, &mut Account) {
        (&self.ends.frames, &mut self.ends.account)
    }

    fn enqueue(&mut self, packet: Packet) {
        if self.is_open {
            self.queue.enqueue(packet, self.ends.now_ns, &mut self.ends);
        } else {
            self.ends.refused(packet, RejectReason::LINK_DOWN);
        }
    }

    fn offer(&mut self, packet: Packet) -> Result<(), NoRoom> {
        self.queue.offer(packet, self.ends.now_ns, &mut self.ends)
    }

    fn waiting_packets(&self) -> u64 {
        self.queue.backlog().packets
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

/// The sink of the queue.
#[derive(Debug)]
pub(crate) struct PacketEnds<F> {
    pub frames: F,
    pub account: Account,
    /// `None` if latency is not measured.
    pub latency: Option<Latency>,
    /// The time of the current turn, in ns.
    pub now_ns: u64,
    /// Frames of GSO packets of which segments were counted as dropped. The whole packet is then
    /// not counted.
    pub counted_frames: BTreeSet<u32>,
}

impl<F: PacketSink> PacketEnds<F> {
    /// Drops a packet before the discipline received it.
    pub fn refused(&mut self, packet: Packet, reason: RejectReason) {
        self.account.refuse(reason, packet.segments().into());
        self.frames.freed(packet);
    }
}

impl<F: PacketSink> PacketSink for PacketEnds<F> {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        // The queue counts the packets that the device returned.
        if let Some(latency) = &mut self.latency {
            latency.completed(&packet, self.now_ns);
        }
        self.frames.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        if !self.counted_frames.remove(&packet.frame().index()) {
            let packets = packet.segments().into();
            self.account.count_dropped(reason.name(), packets);
        }
        self.frames.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &Packet) {
        self.account.marked_packets += u64::from(packet.segments());
    }

    fn segments_dropped(&mut self, of: &Packet, reason: DropReason) {
        self.counted_frames.insert(of.frame().index());
        let packets = of.segments().into();
        self.account.count_dropped(reason.name(), packets);
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.frames.unknown_completion(packet);
    }
}
