//! Where the packets of one direction end, each counted once.

use std::collections::{BTreeMap, BTreeSet};

use taut_linux::Frames;
use taut_path::{DropReason, Packet, PacketSink};

/// Why a frame was dropped before it came to the discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// The kernel dropped it, for we did not read in time; over AF_XDP also one that is longer than a
    /// frame of ours.
    ReceiveBufferFull,
    /// Longer than the other interface, or a frame of ours, can carry.
    TooLong,
    /// A super-packet that is not cut, and is too long to go whole.
    NotCut,
    /// Its own headers contradict it.
    Malformed,
    /// No frame was free.
    NoFrame,
    /// The other interface was down or gone.
    LinkDown,
}

impl Refused {
    /// The name used in tables and JSON, beside those of [`DropReason`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReceiveBufferFull => "receive_buffer_full",
            Self::TooLong => "too_long",
            Self::NotCut => "not_cut",
            Self::Malformed => "malformed",
            Self::NoFrame => "no_frame",
            Self::LinkDown => "link_down",
        }
    }
}

/// What became of the frames of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// What came in: frames, and super-packets as one each.
    pub received_packets: u64,
    pub received_bytes: u64,
    /// Super-packets that were cut, and the segments that they gave.
    pub super_packets: u64,
    pub segments: u64,
    /// Frames that left.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    /// Frames that were in the device when it went down or away, or when its ring was given up: they
    /// may have left.
    pub in_doubt_packets: u64,
    /// Frames that the discipline marked.
    pub marked_packets: u64,
    /// By reason; only those that occurred.
    pub dropped_packets: BTreeMap<&'static str, u64>,
    /// Handed back by the driver though nobody sent them: a mistake.
    pub stray_packets: u64,
}

impl Counts {
    /// Frames that came to be carried: each ends once.
    pub fn frames(&self) -> u64 {
        (self.received_packets + self.segments).saturating_sub(self.super_packets)
    }

    pub fn all_dropped_packets(&self) -> u64 {
        self.dropped_packets.values().sum()
    }

    /// Frames of which is known what became of them.
    pub fn ended_packets(&self) -> u64 {
        self.sent_packets + self.in_doubt_packets + self.all_dropped_packets()
    }

    pub fn refuse(&mut self, reason: Refused, packets: u64) {
        if packets > 0 {
            *self.dropped_packets.entry(reason.name()).or_default() += packets;
        }
    }
}

/// Gives frames back and counts.
#[derive(Debug)]
pub struct Ends<F> {
    pub pool: F,
    pub counts: Counts,
    /// Came back, and the next look at the interface tells whether they left.
    unconfirmed_packets: u64,
    unconfirmed_bytes: u64,
    /// So many of those that come back next were in the device when it went down.
    doubtful_packets: u64,
    /// Frames of super-packets of which segments were counted as dropped: the whole is not, then.
    counted_frames: BTreeSet<u32>,
}

impl<F: Frames> Ends<F> {
    pub fn new(pool: F) -> Self {
        Self {
            pool,
            counts: Counts::default(),
            unconfirmed_packets: 0,
            unconfirmed_bytes: 0,
            doubtful_packets: 0,
            counted_frames: BTreeSet::new(),
        }
    }

    /// The interface was looked at, after all that came back: what did has left.
    pub fn confirm(&mut self) {
        self.counts.sent_packets += std::mem::take(&mut self.unconfirmed_packets);
        self.counts.sent_bytes += std::mem::take(&mut self.unconfirmed_bytes);
    }

    /// The interface was down or away, or its ring is given up, with `in_ring_packets` in it: nobody
    /// knows whether these left, nor those that came back since the look before.
    pub fn doubt(&mut self, in_ring_packets: u32) {
        self.counts.in_doubt_packets += std::mem::take(&mut self.unconfirmed_packets);
        self.unconfirmed_bytes = 0;
        self.doubtful_packets = in_ring_packets.into();
    }

    /// Whether something came back that no look confirmed.
    pub fn is_unconfirmed(&self) -> bool {
        self.unconfirmed_packets > 0
    }

    /// Drops a packet that no discipline had.
    pub fn refused(&mut self, packet: Packet, reason: Refused) {
        self.counts.refuse(reason, packet.segments().into());
        self.give_back(packet);
    }

    /// One frame came back from the device.
    fn came_back(&mut self, packet: &Packet) {
        if self.doubtful_packets > 0 {
            self.doubtful_packets -= 1;
            self.counts.in_doubt_packets += 1;
        } else {
            self.unconfirmed_packets += 1;
            self.unconfirmed_bytes += u64::from(packet.wire_bytes());
        }
    }

    fn count_dropped(&mut self, packet: &Packet, reason: DropReason) {
        let dropped = self.counts.dropped_packets.entry(reason.name());
        *dropped.or_default() += u64::from(packet.segments());
    }

    fn give_back(&mut self, packet: Packet) {
        // The pool counts what is not its own.
        let _ = self.pool.give_back(packet.into_frame());
    }
}

impl<F: Frames> PacketSink for Ends<F> {
    fn freed(&mut self, packet: Packet) {
        // The segments of a super-packet were counted one by one.
        if packet.segmentation.is_none() {
            self.came_back(&packet);
        }
        self.give_back(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        if !self.counted_frames.remove(&packet.frame().index()) {
            self.count_dropped(&packet, reason);
        }
        self.give_back(packet);
    }

    fn marked(&mut self, packet: &Packet) {
        self.counts.marked_packets += u64::from(packet.segments());
    }

    fn piece_freed(&mut self, piece: &Packet) {
        self.came_back(piece);
    }

    fn segments_dropped(&mut self, of: &Packet, reason: DropReason) {
        self.counted_frames.insert(of.frame().index());
        self.count_dropped(of, reason);
    }

    fn stray(&mut self, packet: Packet) {
        self.counts.stray_packets += 1;
        drop(packet);
    }
}

#[cfg(test)]
mod tests {
    use taut_path::pool::FramePool;

    use super::*;

    #[test]
    fn what_came_back_since_the_last_look_and_what_is_in_the_ring_is_in_doubt() {
        let mut ends = Ends::new(FramePool::new(8, 64));
        let free = |ends: &mut Ends<FramePool>| {
            let packet = ends.pool.packet(&[0; 60]).expect("free");
            ends.freed(packet);
        };
        free(&mut ends);
        ends.confirm();
        free(&mut ends);
        ends.doubt(2);
        let counts =
            |ends: &Ends<FramePool>| (ends.counts.sent_packets, ends.counts.in_doubt_packets);
        assert_eq!(counts(&ends), (1, 1));
        for _ in 0..3 {
            free(&mut ends);
        }
        ends.confirm();
        assert_eq!(counts(&ends), (2, 3));
        assert_eq!(ends.counts.sent_bytes, 120);
        assert_eq!(ends.counts.ended_packets(), 5);
        assert_eq!(ends.pool.free_frames(), 8);
    }
}
