//! Chunks of a super-packet: some of its segments, as an object of their own.

use core::num::NonZeroU32;

use super::{Frame, IS_CHUNK, Mark, Packet, Segmentation};

/// The number of the cut packet, below [`Mark::RESTS`].
const NUMBER: u32 = Mark::RESTS;
/// The super-packet ends with it.
const IS_LAST: u32 = 1 << 9;
/// Where its first segment is.
const FIRST_SHIFT: u32 = 16;

/// The most segments of a super-packet that can be cut.
pub(crate) const MAX_SEGMENTS: u32 = 1 << (u32::BITS - FIRST_SHIFT);

/// Which segments of its super-packet a chunk is. How many they are says its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// The first of them, counted from 0; below 65,536.
    pub first_segment: u32,
    /// Whether the super-packet ends with it.
    pub is_last: bool,
}

/// Chunks.
impl Packet {
    /// Which chunk of a super-packet it is; `None` if it is whole. A chunk has the frame of its
    /// super-packet, whose bytes it shares with the other chunks: its headers are at the start of the
    /// frame, and its payload behind that of the segments before it.
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

    /// Segments that it is on the wire, at least 1.
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

    /// Whether a super-packet ends with this chunk.
    #[inline]
    pub(crate) const fn is_last_chunk(&self) -> bool {
        self.charge_bytes & IS_LAST != 0
    }

    /// The number of the cut packet that this is a chunk of.
    #[inline]
    pub(crate) const fn cut_number(&self) -> u32 {
        self.charge_bytes & NUMBER
    }

    /// The number of the cut packet that this is the rest of.
    #[inline]
    pub(crate) const fn rest_number(&self) -> Option<u32> {
        self.mark.rest_number()
    }

    /// Whether it is what is left of a packet of which chunks were sent.
    #[inline]
    pub(crate) const fn is_rest(&self) -> bool {
        self.rest_number().is_some()
    }

    /// Records that the super-packet ends with this chunk.
    pub(crate) const fn become_last(&mut self) {
        self.charge_bytes |= IS_LAST;
    }

    /// A chunk, `bytes` long, whose first segment is `first_segment` of packet `number`, to be sent with
    /// `mark`; not the last. The frame is then in two descriptors: only [`split`](crate::late_segmentation) calls this.
    #[inline]
    pub(crate) const fn chunk_of(
        &self,
        number: u32,
        first_segment: u32,
        bytes: u32,
        mark: Mark,
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
            mark,
            priority: self.priority,
            ecn: self.ecn | IS_CHUNK,
        }
    }

    /// Makes it the rest of packet `number`, `bytes` long.
    #[inline]
    pub(crate) fn become_rest(&mut self, number: u32, bytes: u32) {
        self.mark = Mark::of_rest(number);
        self.wire_bytes = NonZeroU32::new(bytes).unwrap_or(NonZeroU32::MIN);
    }

    /// Makes a rest, of whose packet the first so many segments were sent, that packet again.
    pub(crate) fn become_whole(&mut self, sent_segments: u32) {
        let each = self.segmentation.map_or(0, |cut| cut.payload_bytes.get());
        let sent_bytes = sent_segments.saturating_mul(each.into());
        self.wire_bytes = self.wire_bytes.saturating_add(sent_bytes);
        self.mark = Mark::NEVER;
    }
}
