//! Chunks of a GSO packet: consecutive segments that are sent as one object.

use core::num::NonZeroU32;

use super::{Frame, IS_CHUNK, Packet, Segmentation, Tag};

/// The number of the segmented packet, below [`Tag::REMAINDERS`].
const NUMBER: u32 = Tag::REMAINDERS;
/// The chunk is the last of its GSO packet.
const IS_LAST: u32 = 1 << 9;
/// Position of the index of the first segment.
const FIRST_SHIFT: u32 = 16;

/// The maximum number of segments of a packet for late segmentation.
pub(crate) const MAX_SEGMENTS: u32 = 1 << (u32::BITS - FIRST_SHIFT);

/// The position of a chunk in its GSO packet. Its length gives the number of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Index of the first segment, from 0; below 65,536.
    pub first_segment: u32,
    /// `true` for the last chunk of the GSO packet.
    pub is_last: bool,
}

/// Methods of chunks.
impl Packet {
    /// Returns the position of a chunk; `None` for a whole packet. A chunk shares the frame of its
    /// GSO packet with the other chunks. The headers of the GSO packet are at the start of the
    /// frame; the payload of the chunk follows that of the previous segments.
    #[inline]
    pub const fn chunk(&self) -> Option<Chunk> {
        if !self.is_chunk() {
            return None;
        }
        Some(Chunk {
            first_segment: self.charge_bytes >> FIRST_SHIFT,
            is_last: self.charge_bytes & IS_LAST != 0,
        })
    }

    /// Returns the number of segments on the wire, at least 1.
    pub const fn segments(&self) -> u32 {
        let Some(Segmentation {
            header_bytes,
            payload_bytes,
        }) = self.segmentation
        else {
            return 1;
        };
        let payload = self.wire_bytes.get().saturating_sub(header_bytes as u32);
        match payload.div_ceil(payload_bytes.get() as u32) {
            0 => 1,
            segments => segments,
        }
    }

    /// Returns `true` for the last chunk of a GSO packet.
    #[inline]
    pub(crate) const fn is_last_chunk(&self) -> bool {
        self.charge_bytes & IS_LAST != 0
    }

    /// Returns the number of the segmented packet of this chunk.
    #[inline]
    pub(crate) const fn packet_number(&self) -> u32 {
        self.charge_bytes & NUMBER
    }

    /// Returns the number of the segmented packet of this remainder.
    #[inline]
    pub(crate) const fn remainder_number(&self) -> Option<u32> {
        self.tag.remainder_number()
    }

    /// Returns `true` for the remainder of a packet of which chunks were sent.
    #[inline]
    pub(crate) const fn is_remainder(&self) -> bool {
        self.remainder_number().is_some()
    }

    /// Marks the chunk as the last of its GSO packet.
    pub(crate) const fn become_last(&mut self) {
        self.charge_bytes |= IS_LAST;
    }

    /// Returns a chunk of `bytes` that is not the last, whose first segment is `first_segment` of
    /// packet `number`, with `tag`. Two descriptors then share the frame, so only
    /// [`late_segmentation`](crate::late_segmentation) calls this.
    #[inline]
    pub(crate) const fn chunk_of(
        &self,
        number: u32,
        first_segment: u32,
        bytes: u32,
        tag: Tag,
    ) -> Self {
        Self {
            wire_bytes: match NonZeroU32::new(bytes) {
                Some(bytes) => bytes,
                None => NonZeroU32::MIN,
            },
            frame: Frame(self.frame.0),
            charge_bytes: number | first_segment << FIRST_SHIFT,
            flow: self.flow,
            segmentation: self.segmentation,
            tag,
            priority: self.priority,
            ecn: self.ecn | IS_CHUNK,
        }
    }

    /// Turns the packet into the remainder of packet `number`, with `bytes` left.
    #[inline]
    pub(crate) fn become_remainder(&mut self, number: u32, bytes: u32) {
        self.tag = Tag::of_remainder(number);
        self.wire_bytes = NonZeroU32::new(bytes).unwrap_or(NonZeroU32::MIN);
    }

    /// Turns a remainder back into the whole packet, of which `sent_segments` were sent.
    pub(crate) fn become_whole(&mut self, sent_segments: u32) {
        let each = self
            .segmentation
            .map_or(0, |segmentation| segmentation.payload_bytes.get());
        let sent_bytes = sent_segments.saturating_mul(each.into());
        self.wire_bytes = self.wire_bytes.saturating_add(sent_bytes);
        self.tag = Tag::NEVER;
    }
}
