//! Contents of the frames of a host's queue.

use std::collections::VecDeque;

use taut_path::tsq::memory_bytes;
use taut_path::{DropReason, Ecn, Frame, Packet, PacketSink, Segmentation};

use super::frames_in_flight::{Flight, FrameFlags};
use crate::tcp::Ack;

/// Content of a packet: data, an acknowledgement, or both. One cache line: a long queue loads it
/// once when it enters and once when it leaves.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct OutgoingSegment {
    pub connection: u32,
    pub start: u64,
    pub payload_bytes: u32,
    /// Headers of each segment on the wire.
    pub header_bytes: u16,
    pub mss_bytes: u16,
    pub priority: u8,
    /// Its [`FrameFlags`] other than those of its data.
    pub flags: u8,
    pub ack: Ack,
}

const _: () = assert!(size_of::<OutgoingSegment>() == 64);

impl OutgoingSegment {
    fn segmentation(&self) -> Option<Segmentation> {
        if self.payload_bytes <= u32::from(self.mss_bytes) {
            return None;
        }
        Segmentation::new(self.header_bytes, self.mss_bytes)
    }

    /// Returns the memory of its packet in the host, in bytes.
    pub fn memory_bytes(&self) -> u32 {
        let wire_bytes = u32::from(self.header_bytes) + self.payload_bytes;
        memory_bytes(wire_bytes, self.segmentation())
    }
}

/// The segments of a host's queue, indexed by frame. Never shrinks.
#[derive(Debug, Default)]
pub(super) struct Segments {
    segments: Vec<OutgoingSegment>,
    /// FIFO order: a long queue then accesses memory sequentially, which hardware prefetches.
    free: VecDeque<u32>,
}

impl Segments {
    /// Stores a segment and creates its packet.
    #[inline(always)]
    pub fn packet(&mut self, segment: &OutgoingSegment) -> Packet {
        let index = match self.free.pop_front() {
            Some(index) => {
                self.segments[index as usize] = *segment;
                index
            }
            None => {
                self.segments.push(*segment);
                (self.segments.len() - 1) as u32
            }
        };
        let frame = Frame::new(index);
        let wire_bytes = u32::from(segment.header_bytes) + segment.payload_bytes;
        let segmentation = segment.segmentation();
        let mut packet =
            Packet::new(frame, wire_bytes).with_charge(memory_bytes(wire_bytes, segmentation));
        packet.priority = segment.priority;
        packet.flow = segment.connection;
        if segment.flags & FrameFlags::ECN_CAPABLE != 0 {
            packet.set_ecn(Ecn::Capable);
        }
        packet.segmentation = segmentation;
        packet
    }

    /// Returns the segment of a packet for modification.
    pub fn of_mut(&mut self, packet: &Packet) -> &mut OutgoingSegment {
        &mut self.segments[packet.frame().index() as usize]
    }

    /// Returns the `index`-th frame of a packet or chunk, which arrives at `at_ns`, `under_way_ns`
    /// after it was reported.
    #[inline(always)]
    pub fn flight(&self, packet: &Packet, index: u32, at_ns: u64, under_way_ns: u64) -> Flight {
        let segment = &self.segments[packet.frame().index() as usize];
        let mut flags = segment.flags;
        if packet.ecn() == Ecn::Marked {
            flags |= FrameFlags::CONGESTION;
        }
        let (mut before, mut payload_bytes) = (0, segment.payload_bytes);
        if packet.segmentation.is_some() {
            let mss_bytes = u32::from(segment.mss_bytes);
            let index = index + packet.chunk().map_or(0, |piece| piece.first_segment);
            before = index * mss_bytes;
            if index > 0 {
                flags &= !FrameFlags::ONLY_FIRST;
            }
            if segment.payload_bytes > before + mss_bytes {
                flags |= FrameFlags::MORE;
            }
            payload_bytes = (segment.payload_bytes - before).min(mss_bytes);
        }
        Flight {
            at_ns,
            start: segment.start + u64::from(before),
            cumulative: segment.ack.cumulative,
            sack: segment.ack.sack,
            window_bytes: segment.ack.window_bytes,
            connection: segment.connection,
            under_way_ns: u32::try_from(under_way_ns).unwrap_or(u32::MAX),
            // At most `mss_bytes`, which fits.
            payload_bytes: payload_bytes as u16,
            flags,
        }
    }
}

impl PacketSink for Segments {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.free.push_back(packet.into_frame().index());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.freed(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::SackBlocks;

    #[test]
    fn each_segment_has_the_mark_first_has_cwr() {
        let mut segments = Segments::default();
        let ack = Ack {
            cumulative: 0,
            window_bytes: 0,
            sack: SackBlocks::default(),
            ece: false,
        };
        let mut packet = segments.packet(&OutgoingSegment {
            connection: 0,
            start: 0,
            payload_bytes: 2_500,
            header_bytes: crate::HEADER_BYTES,
            mss_bytes: 1_000,
            priority: 0,
            flags: FrameFlags::CWR | FrameFlags::ECN_CAPABLE,
            ack,
        });
        assert_eq!(packet.ecn(), Ecn::Capable);
        let flags = |packet: &Packet, index| {
            let flight = segments.flight(packet, index, 9, 7);
            assert_eq!(flight.reported_ns(), 2);
            (
                flight.has(FrameFlags::CONGESTION),
                flight.has(FrameFlags::CWR),
            )
        };
        assert_eq!(flags(&packet, 0), (false, true));
        packet.set_ecn(Ecn::Marked);
        let marked = [0, 1, 2].map(|index| flags(&packet, index));
        assert_eq!(marked, [(true, true), (true, false), (true, false)]);
        let _ = packet.into_frame();
    }
}
