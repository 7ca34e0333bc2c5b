//! The sink in which the packets of a direction end.

use std::collections::BTreeSet;

use taut_path::{DropReason, Packet, PacketSink};

use crate::account::Account;
use crate::latency::Latency;

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
