//! The packets that are being segmented, and how the two halves of a queue agree on their ends.
//!
//! The sender stores the remainder of each packet and counts its chunks. After the last segment it
//! stores the whole packet here, with the number of chunks; the completer counts the completed
//! ones. The half that finds no chunk outstanding takes the packet and ends it. The last chunk is
//! counted before the device can see it, so the sender ends only packets whose remainder is
//! dropped.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::num::NonZeroU32;

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicU32, Ordering};

use super::LateSegmentation;
use crate::limit::Unit;
use crate::packet::{DropReason, MAX_SEGMENTS, Packet, Segmentation, Tag};

/// State of a free place.
const FREE: u32 = 0;
/// A remainder exists. This is more than the possible chunks in the device, minus the completed
/// ones.
const OPEN: u32 = MAX_SEGMENTS;
/// Chunks in the device, once there is no remainder.
const CHUNKS: u32 = 2 * MAX_SEGMENTS - 1;
/// There is no remainder: the packet is stored here.
const CLOSED: u32 = 1 << 18;
/// Position of the drop reason of the remainder: one more than its index, or 0.
const REASON_SHIFT: u32 = 20;

/// The maximum number of packets that are segmented at the same time: the number of distinct tags.
/// A model checker explores each place, so it has one.
const PLACES: u32 = if cfg!(loom) { 1 } else { Tag::REMAINDERS };

struct TablePlace {
    state: AtomicU32,
    /// At most one packet.
    whole: ConcurrentQueue<Packet>,
}

/// A packet of which no chunk is in the device.
pub(crate) struct EndedPacket {
    pub whole: Packet,
    /// The drop reason of its remainder, if it was dropped.
    pub reason: Option<DropReason>,
}

impl TablePlace {
    /// Takes a packet without outstanding chunks, and frees the place.
    fn end(&self, state: u32) -> Option<EndedPacket> {
        let whole = self.whole.pop().ok();
        // Release: a sender that takes the place finds it empty.
        self.state.store(FREE, Ordering::Release);
        let index = (state >> REASON_SHIFT).checked_sub(1);
        Some(EndedPacket {
            whole: whole?,
            reason: index.and_then(|index| DropReason::ALL.get(index as usize).copied()),
        })
    }

    /// Subtracts `chunks` completed chunks. Returns the packet if these were the last.
    #[inline]
    fn chunks_ended(&self, chunks: u32) -> Option<EndedPacket> {
        // AcqRel: the half that finds no chunk outstanding sees `whole`, which the other half
        // stored before its own change.
        let was = self.state.fetch_sub(chunks, Ordering::AcqRel);
        if was & (CLOSED | CHUNKS) != CLOSED | chunks {
            return None;
        }
        self.end(was)
    }

    /// Stores `whole`, which has no remainder and was sent in `chunks` chunks. Returns it if all of
    /// them completed.
    fn close(&self, whole: Packet, chunks: u32, reason: Option<DropReason>) -> Option<EndedPacket> {
        // Cannot fail: the place belongs to this packet alone.
        let _ = self.whole.push(whole);
        let closed = CLOSED | reason_bits(reason);
        // One wrapping addition replaces OPEN by the number of chunks, so no concurrent completion
        // is lost.
        let change = closed.wrapping_add(chunks).wrapping_sub(OPEN);
        let is = self.state.fetch_add(change, Ordering::AcqRel);
        let is = is.wrapping_add(change);
        if is & CHUNKS != 0 {
            return None;
        }
        self.end(is)
    }
}

/// Creates the two ends of a table, for a limit in `unit`. With [`LateSegmentation::Off`] it has no
/// places, so every packet is sent whole.
pub(crate) fn table(setting: LateSegmentation, unit: Unit) -> (LateSegmenter, ChunkTracker) {
    let packets = match setting {
        LateSegmentation::Off => 0,
        _ => PLACES,
    };
    let (chunks_in_limit, _) = setting.at_first(unit);
    let places: Arc<[TablePlace]> = (0..packets)
        .map(|_| TablePlace {
            state: AtomicU32::new(FREE),
            whole: ConcurrentQueue::bounded(1),
        })
        .collect();
    let segmenter = LateSegmenter {
        sent: places.iter().map(|_| Sent::default()).collect(),
        next: 0,
        places: places.clone(),
        chunks_in_limit,
    };
    (segmenter, ChunkTracker { places })
}

/// The sender's end.
pub(crate) struct LateSegmenter {
    places: Arc<[TablePlace]>,
    /// Segments sent of each packet.
    sent: Box<[Sent]>,
    /// Where the search for a free place starts.
    next: u32,
    /// Chunks per limit, if the limit determines their length.
    pub chunks_in_limit: Option<NonZeroU32>,
}

/// The part of a packet that was sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    segments: u32,
    chunks: u32,
}

/// A packet that can be segmented, or a remainder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsegmented {
    bytes: u32,
    segmentation: Segmentation,
    /// Its number, for a remainder.
    remainder_number: Option<u32>,
}

impl Unsegmented {
    /// Describes `packet`, which is segmented as `segmentation`. Only for GSO packets, so that
    /// other packets pay no cost.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet, segmentation: Segmentation) -> Self {
        Self {
            bytes: packet.wire_bytes(),
            segmentation,
            remainder_number: packet.remainder_number(),
        }
    }
}

/// The next segments of a packet, and the length of its chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    number: u32,
    first_segment: u32,
    /// Segments of a chunk, and their length as one object; only the last chunk can be shorter.
    segments: u32,
    pub bytes: u32,
    header_bytes: u32,
    /// Length of the unsent part, headers once.
    left_bytes: u32,
}

impl Plan {
    /// Returns `true` if no chunk of the packet was sent.
    pub(crate) const fn is_first(&self) -> bool {
        self.first_segment == 0
    }

    const fn payload_bytes(&self) -> u32 {
        self.bytes - self.header_bytes
    }

    /// Returns the number of chunks of the unsent part, at least 1.
    pub(crate) const fn chunks(&self) -> u32 {
        (self.left_bytes - self.header_bytes).div_ceil(self.payload_bytes())
    }

    /// Returns the total length of the next `chunks` chunks.
    pub(crate) const fn bytes_of(&self, chunks: u32) -> u32 {
        let payload = chunks.saturating_mul(self.payload_bytes());
        let left = self.left_bytes - self.header_bytes;
        let payload = if payload < left { payload } else { left };
        payload.saturating_add(chunks.saturating_mul(self.header_bytes))
    }

    /// Returns the next chunk, which is not the last.
    #[inline]
    pub(crate) const fn chunk(&self, packet: &Packet, tag: Tag) -> Packet {
        packet.chunk_of(self.number, self.first_segment, self.bytes, tag)
    }

    /// Advances past a chunk that was sent and was not the last.
    #[inline]
    pub(crate) const fn advance(&mut self) {
        self.first_segment += self.segments;
        self.left_bytes -= self.payload_bytes();
    }
}

impl LateSegmenter {
    /// Returns the plan for `packet` with chunks of at most `max_bytes`; `None` if it is sent
    /// whole. Changes nothing.
    #[inline]
    pub(crate) fn plan(&self, packet: Unsegmented, max_bytes: u32) -> Option<Plan> {
        if packet.remainder_number.is_none() && packet.bytes <= max_bytes {
            return None;
        }
        self.plan_segments(packet, max_bytes)
    }

    #[inline(never)]
    fn plan_segments(&self, packet: Unsegmented, max_bytes: u32) -> Option<Plan> {
        let header_bytes = u32::from(packet.segmentation.header_bytes);
        let each_bytes = u32::from(packet.segmentation.payload_bytes.get());
        let payload_bytes = packet.bytes.saturating_sub(header_bytes);
        let fit = max_bytes.saturating_sub(header_bytes) / each_bytes;
        let segments = fit.max(1);
        let (number, first_segment) = match packet.remainder_number {
            Some(number) => (number, self.sent(number).segments),
            None if payload_bytes.div_ceil(segments.saturating_mul(each_bytes)) <= 1 => {
                return None;
            }
            None if payload_bytes.div_ceil(each_bytes) >= MAX_SEGMENTS => return None,
            None => (self.free()?, 0),
        };
        Some(Plan {
            number,
            first_segment,
            segments,
            // A remainder can be shorter than one chunk.
            bytes: header_bytes + segments.saturating_mul(each_bytes).min(payload_bytes),
            header_bytes,
            left_bytes: packet.bytes,
        })
    }

    /// Returns a free place; if there is none, a packet is sent whole.
    #[inline]
    fn free(&self) -> Option<u32> {
        let places = self.places.len() as u32;
        (0..places)
            .map(|tried| (self.next + tried) % places)
            .find(|&number| self.place(number).state.load(Ordering::Acquire) == FREE)
    }

    fn place(&self, number: u32) -> &TablePlace {
        &self.places[number as usize]
    }

    fn sent(&self, number: u32) -> Sent {
        self.sent[number as usize]
    }

    /// Reserves the place of a packet before its first chunk is sent.
    pub(crate) fn begin(&mut self, plan: &Plan) {
        if plan.is_first() {
            self.place(plan.number).state.store(OPEN, Ordering::Release);
            self.sent[plan.number as usize] = Sent::default();
            self.next = plan.number + 1;
        }
    }

    /// Turns `packet` into the remainder after `chunks` chunks were sent, up to the position of
    /// `plan`.
    pub(crate) fn went(&mut self, plan: &Plan, packet: &mut Packet, chunks: u32) {
        let sent = &mut self.sent[plan.number as usize];
        sent.chunks += chunks;
        sent.segments = plan.first_segment;
        packet.become_remainder(plan.number, plan.left_bytes);
    }

    /// Returns the last chunk of `packet`, before it is submitted. The whole packet is stored in
    /// the table.
    pub(crate) fn last(&mut self, plan: &Plan, mut packet: Packet, tag: Tag) -> Packet {
        let (number, first_segment) = (plan.number, plan.first_segment);
        let mut chunk = packet.chunk_of(number, first_segment, plan.left_bytes, tag);
        chunk.become_last();
        packet.become_whole(first_segment);
        let chunks = self.sent(number).chunks + 1;
        // At least one chunk is outstanding, because it is not sent yet.
        let _ = self.place(number).close(packet, chunks, None);
        chunk
    }

    /// Handles `chunk`, the last of its packet, which the device refused. Returns the packet
    /// if no other chunk is in the device.
    pub(crate) fn last_rejected(&mut self, chunk: &Packet) -> Option<EndedPacket> {
        let place = self.place(chunk.packet_number());
        let bits = reason_bits(Some(DropReason::DeviceRefused));
        // The refused chunk still counts, so the completer cannot have ended the packet.
        place.state.fetch_or(bits, Ordering::AcqRel);
        place.chunks_ended(1)
    }

    /// Drops a remainder. Returns the packet if no chunk is in the device; otherwise it ends with
    /// its last chunk.
    pub(crate) fn dropped(
        &mut self,
        mut remainder: Packet,
        reason: DropReason,
    ) -> Option<EndedPacket> {
        let number = remainder.remainder_number()?;
        let sent = self.sent(number);
        remainder.become_whole(sent.segments);
        self.place(number)
            .close(remainder, sent.chunks, Some(reason))
    }
}

fn reason_bits(reason: Option<DropReason>) -> u32 {
    reason.map_or(0, |reason| (reason as u32 + 1) << REASON_SHIFT)
}

/// The completer's end.
#[derive(Default)]
pub(crate) struct ChunkTracker {
    places: Arc<[TablePlace]>,
}

impl ChunkTracker {
    /// Counts completed chunks of packet `number`. Returns the packet if these were the last.
    pub(crate) fn complete(&self, number: u32, chunks: u32) -> Option<EndedPacket> {
        self.places.get(number as usize)?.chunks_ended(chunks)
    }
}
