//! Sorts returned packets by the time at which they were sent: in this epoch and generation, in an
//! older generation, before a reset (stale), or never by this queue (unknown).

use crate::limit::{CompletedCounts, Unit};
use crate::packet::{Packet, Tag};

/// Packets and their bytes. A batch can exceed the range of [`CompletedCounts`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub packets: u32,
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(super) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Returns the sum.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }

    /// Returns the counts as a caller and a probe receive them.
    #[inline]
    pub(super) fn counts(self) -> CompletedCounts {
        CompletedCounts {
            packets: self.packets,
            bytes: u32::try_from(self.bytes).unwrap_or(u32::MAX),
        }
    }

    #[inline]
    pub(super) fn units(self, unit: Unit) -> u32 {
        match unit {
            Unit::Bytes => self.counts().bytes,
            Unit::Packets => self.packets,
        }
    }
}

/// The period in which a packet was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentIn {
    /// The epoch and generation of the sorter.
    CurrentGeneration,
    /// An older generation of the epoch.
    OlderGeneration,
    /// An epoch before the last reset.
    OlderEpoch,
    /// Never by this queue.
    OtherQueue,
}

/// Packets that returned and are not counted yet. Stored with the queue, so that a sink that panics
/// loses none of them.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// The tag of packets of the newest generation.
    pub tag: Tag,
    pub current: Count,
    pub older: Count,
    pub stale_packets: u32,
    pub unknown_packets: u32,
    /// Any of these three.
    pub has_other: bool,
}

impl Sorter {
    pub(super) fn new(tag: Tag) -> Self {
        Self {
            tag,
            ..Self::default()
        }
    }

    /// Counts a whole packet of the newest generation. Returns `false` for any other packet.
    #[inline]
    pub(super) fn count_current(&mut self, packet: &Packet) -> bool {
        let is_current = packet.tag == self.tag && !packet.is_chunk();
        if is_current {
            self.current.add(packet.wire_bytes());
        }
        is_current
    }

    /// Counts a packet that [`count_current`](Self::count_current) does not.
    pub(super) fn count_other(&mut self, packet: &Packet) -> SentIn {
        let before = self.packets();
        let sent_in = self.sort(packet.tag, packet.wire_bytes());
        debug_assert_eq!(self.packets(), before + 1, "each packet counts once");
        sent_in
    }

    fn sort(&mut self, tag: Tag, bytes: u32) -> SentIn {
        if tag == self.tag {
            self.current.add(bytes);
            return SentIn::CurrentGeneration;
        }
        self.has_other = true;
        if tag.is_of_epoch(self.tag) {
            self.older.add(bytes);
            SentIn::OlderGeneration
        } else if tag.is_of_queue(self.tag) {
            self.stale_packets += 1;
            SentIn::OlderEpoch
        } else {
            self.unknown_packets += 1;
            SentIn::OtherQueue
        }
    }

    /// Returns the packets that are not counted yet.
    pub(super) fn packets(&self) -> u32 {
        let counted = self.current.packets + self.older.packets;
        counted + self.stale_packets + self.unknown_packets
    }

    /// Continues with the next generation. Returns the packets of the previous one.
    pub(super) fn begin_generation(&mut self, generation: u32) -> Count {
        let current = core::mem::take(&mut self.current);
        self.older = self.older.and(current);
        self.has_other |= current.packets > 0;
        self.tag = self.tag.in_generation(generation);
        current
    }

    /// Continues with a new epoch: all packets that are not counted yet are stale.
    pub(super) fn begin_epoch(&mut self, reset: u32, generation: u32) {
        let current = core::mem::take(&mut self.current);
        let forgotten = core::mem::take(&mut self.older).and(current);
        self.stale_packets += forgotten.packets;
        self.has_other |= forgotten.packets > 0;
        self.tag = self.tag.in_epoch(reset).in_generation(generation);
    }

    /// Takes everything except the packets of the newest generation.
    #[cold]
    pub(super) fn take_other(&mut self) -> Self {
        let empty = Self {
            current: self.current,
            ..Self::new(self.tag)
        };
        core::mem::replace(self, empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Frame;

    fn packet(tag: Tag) -> Packet {
        let mut packet = Packet::new(Frame::new(0), 100);
        packet.tag = tag;
        packet
    }

    #[test]
    fn each_packet_is_counted_once() {
        let tag = Tag::of_new_queue().in_epoch(3).in_generation(2);
        let mut sorter = Sorter::new(tag);
        assert!(sorter.count_current(&packet(tag)));
        for (tag, sent) in [
            (tag.in_generation(1), SentIn::OlderGeneration),
            (tag.in_epoch(2), SentIn::OlderEpoch),
            (Tag::NEVER, SentIn::OtherQueue),
            (
                Tag::of_new_queue().in_epoch(3).in_generation(2),
                SentIn::OtherQueue,
            ),
        ] {
            assert!(!sorter.count_current(&packet(tag)));
            assert_eq!(sorter.count_other(&packet(tag)), sent);
        }
        assert!(sorter.has_other);
        let other = sorter.take_other();
        let counted = (
            other.older.packets,
            other.stale_packets,
            other.unknown_packets,
        );
        assert_eq!((counted, sorter.current.packets), ((1, 1, 2), 1));
        assert!(!sorter.has_other && sorter.older.packets == 0);
    }

    #[test]
    fn packets_are_sorted_by_generation_and_epoch() {
        let tag = Tag::of_new_queue();
        let mut sorter = Sorter::new(tag);
        assert!(sorter.count_current(&packet(tag)));
        assert_eq!(sorter.begin_generation(1).packets, 1);
        assert!(sorter.count_current(&packet(tag.in_generation(1))));
        assert_eq!((sorter.older.packets, sorter.current.packets), (1, 1));
        sorter.begin_epoch(1, 1);
        assert_eq!((sorter.stale_packets, sorter.has_other), (2, true));
        assert_eq!((sorter.older.packets, sorter.current.packets), (0, 0));
        assert_eq!(sorter.count_other(&packet(tag)), SentIn::OlderEpoch);
    }
}
