//! The packets that are cut at the moment, and how the two halves of a queue agree on their ends.
//!
//! The sender holds the rest of each, and counts its chunks for itself. When it gives up the last
//! of it, it leaves the whole packet here and says how many chunks there were; the completer says
//! how many came back. Whoever finds then that no chunk is left takes the packet and ends it. The
//! last chunk is counted before the device can see it, so that the sender ends none but those whose
//! rest is dropped.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::num::NonZeroU32;

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicU32, Ordering};

use crate::packet::{DropReason, MAX_SEGMENTS, Mark, Packet, Segmentation};

/// What is known of a packet that is cut; this if the place is free.
const FREE: u32 = 0;
/// There is a rest: as if more chunks were in the device than there can be, less those that came
/// back.
const OPEN: u32 = MAX_SEGMENTS;
/// Chunks that the device has, once there is no rest.
const CHUNKS: u32 = 2 * MAX_SEGMENTS - 1;
/// There is no rest any more: the packet is left here.
const CLOSED: u32 = 1 << 18;
/// Why the rest was dropped, if it was: one more than the index of the reason.
const REASON_SHIFT: u32 = 20;

/// Packets that can be cut at a time: as many as a mark tells apart. A model checker follows each
/// place.
const PLACES: u32 = if cfg!(loom) { 1 } else { Mark::RESTS };

struct TablePlace {
    state: AtomicU32,
    /// One packet at most.
    whole: ConcurrentQueue<Packet>,
}

/// A packet of which nothing is in the device any more.
pub(crate) struct Ended {
    pub whole: Packet,
    /// Why its rest was dropped, if it was.
    pub reason: Option<DropReason>,
}

impl TablePlace {
    /// Takes a packet of which nothing is left, after which another may have the place.
    fn end(&self, state: u32) -> Option<Ended> {
        let whole = self.whole.pop().ok();
        // Release: whoever takes the place finds it empty.
        self.state.store(FREE, Ordering::Release);
        let index = (state >> REASON_SHIFT).checked_sub(1);
        Some(Ended {
            whole: whole?,
            reason: index.and_then(|index| DropReason::ALL.get(index as usize).copied()),
        })
    }

    /// So many chunks less. Returns the packet if that was all of it.
    #[inline]
    fn chunks_ended(&self, chunks: u32) -> Option<Ended> {
        let was = self.state.fetch_sub(chunks, Ordering::AcqRel);
        if was & (CLOSED | CHUNKS) != CLOSED | chunks {
            return None;
        }
        self.end(was)
    }

    /// There is no rest any more: `whole` went in so many chunks, with which it ends. Returns it if
    /// all of them came back.
    fn close(&self, whole: Packet, chunks: u32, reason: Option<DropReason>) -> Option<Ended> {
        // There is room: the place is this packet's alone.
        let _ = self.whole.push(whole);
        let closed = CLOSED | reason_bits(reason);
        let change = closed.wrapping_add(chunks).wrapping_sub(OPEN);
        let is = self.state.fetch_add(change, Ordering::AcqRel);
        let is = is.wrapping_add(change);
        if is & CHUNKS != 0 {
            return None;
        }
        self.end(is)
    }
}

/// Makes the two ends of a table. `chunks_in_limit`: how long chunks are, where a limit says so.
pub(crate) fn table(chunks_in_limit: Option<NonZeroU32>) -> (Cutter, Joiner) {
    let places: Arc<[TablePlace]> = (0..PLACES)
        .map(|_| TablePlace {
            state: AtomicU32::new(FREE),
            whole: ConcurrentQueue::bounded(1),
        })
        .collect();
    let cutter = Cutter {
        sent: places.iter().map(|_| Sent::default()).collect(),
        next: 0,
        places: places.clone(),
        chunks_in_limit,
    };
    (cutter, Joiner { places })
}

/// The sender's end.
pub(crate) struct Cutter {
    places: Arc<[TablePlace]>,
    /// What was sent of each packet.
    sent: Box<[Sent]>,
    /// Where to look for a free place first.
    next: u32,
    /// How many chunks a limit has, where that says how long they are.
    pub chunks_in_limit: Option<NonZeroU32>,
}

/// What was sent of a packet.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    segments: u32,
    chunks: u32,
}

/// A packet that may be cut, or what is left of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncut {
    bytes: u32,
    cut: Segmentation,
    /// Which rest it is, if it is one.
    rest_number: Option<u32>,
}

impl Uncut {
    /// `packet`, which is cut as `cut` says. What is no super-packet has no way here: it pays for
    /// nothing.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet, cut: Segmentation) -> Self {
        Self {
            bytes: packet.wire_bytes(),
            cut,
            rest_number: packet.rest_number(),
        }
    }
}

/// How a packet is being cut: which of its segments are next, and how long its chunks are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    number: u32,
    first_segment: u32,
    /// Segments of a chunk, and their length as one object; only the last may be shorter.
    segments: u32,
    pub bytes: u32,
    header_bytes: u32,
    /// What was not sent, headers once.
    left_bytes: u32,
}

impl Plan {
    /// Whether nothing of the packet was sent.
    pub(crate) const fn is_first(&self) -> bool {
        self.first_segment == 0
    }

    const fn payload_bytes(&self) -> u32 {
        self.bytes - self.header_bytes
    }

    /// Chunks that what is left makes, at least 1.
    pub(crate) const fn chunks(&self) -> u32 {
        (self.left_bytes - self.header_bytes).div_ceil(self.payload_bytes())
    }

    /// Length of the next so many chunks together.
    pub(crate) const fn bytes_of(&self, chunks: u32) -> u32 {
        let payload = chunks.saturating_mul(self.payload_bytes());
        let left = self.left_bytes - self.header_bytes;
        let payload = if payload < left { payload } else { left };
        payload.saturating_add(chunks.saturating_mul(self.header_bytes))
    }

    /// The next chunk, which is not the last.
    #[inline]
    pub(crate) const fn chunk(&self, packet: &Packet, mark: Mark) -> Packet {
        packet.chunk_of(self.number, self.first_segment, self.bytes, mark)
    }

    /// The next chunk was sent, and was not the last.
    #[inline]
    pub(crate) const fn advance(&mut self) {
        self.first_segment += self.segments;
        self.left_bytes -= self.payload_bytes();
    }
}

impl Cutter {
    /// How `packet` is cut, if no chunk should be longer than `most_bytes`; `None` if it goes
    /// whole. Nothing changes.
    #[inline]
    pub(crate) fn plan(&self, packet: Uncut, most_bytes: u32) -> Option<Plan> {
        if packet.rest_number.is_none() && packet.bytes <= most_bytes {
            return None;
        }
        self.plan_cut(packet, most_bytes)
    }

    #[inline(never)]
    fn plan_cut(&self, packet: Uncut, most_bytes: u32) -> Option<Plan> {
        let header_bytes = u32::from(packet.cut.header_bytes);
        let each_bytes = u32::from(packet.cut.payload_bytes.get());
        let payload_bytes = packet.bytes.saturating_sub(header_bytes);
        let fit = most_bytes.saturating_sub(header_bytes) / each_bytes;
        let segments = fit.max(1);
        let (number, first_segment) = match packet.rest_number {
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
            // A rest may be shorter than one chunk.
            bytes: header_bytes + segments.saturating_mul(each_bytes).min(payload_bytes),
            header_bytes,
            left_bytes: packet.bytes,
        })
    }

    /// A place that nobody uses; when all are in use, a packet goes whole.
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

    /// Before the first chunk of a packet is sent.
    pub(crate) fn begin(&mut self, plan: &Plan) {
        if plan.is_first() {
            self.place(plan.number).state.store(OPEN, Ordering::Release);
            self.sent[plan.number as usize] = Sent::default();
            self.next = plan.number + 1;
        }
    }

    /// So many chunks of `packet` were sent, up to where `plan` is now: makes it the rest.
    pub(crate) fn went(&mut self, plan: &Plan, packet: &mut Packet, chunks: u32) {
        let sent = &mut self.sent[plan.number as usize];
        sent.chunks += chunks;
        sent.segments = plan.first_segment;
        packet.become_rest(plan.number, plan.left_bytes);
    }

    /// The last chunk of what `plan` has left of `packet`, about to be sent. The packet is left in
    /// the table.
    pub(crate) fn last(&mut self, plan: &Plan, mut packet: Packet, mark: Mark) -> Packet {
        let (number, first_segment) = (plan.number, plan.first_segment);
        let mut chunk = packet.chunk_of(number, first_segment, plan.left_bytes, mark);
        chunk.become_last();
        packet.become_whole(first_segment);
        let chunks = self.sent(number).chunks + 1;
        // One at least is not back: it was not sent yet.
        let _ = self.place(number).close(packet, chunks, None);
        chunk
    }

    /// The device did not take `chunk`, the last of its packet. Returns the packet if nothing of it
    /// is in the device.
    pub(crate) fn last_refused(&mut self, chunk: &Packet) -> Option<Ended> {
        let place = self.place(chunk.cut_number());
        let bits = reason_bits(Some(DropReason::DeviceRefused));
        // The refused chunk still counts, so that nobody ended it.
        place.state.fetch_or(bits, Ordering::AcqRel);
        place.chunks_ended(1)
    }

    /// Drops a rest. Returns the packet if nothing of it is in the device; else it ends with the
    /// last chunk.
    pub(crate) fn dropped(&mut self, mut rest: Packet, reason: DropReason) -> Option<Ended> {
        let number = rest.rest_number()?;
        let sent = self.sent(number);
        rest.become_whole(sent.segments);
        self.place(number).close(rest, sent.chunks, Some(reason))
    }
}

fn reason_bits(reason: Option<DropReason>) -> u32 {
    let index = DropReason::ALL
        .iter()
        .position(|&known| Some(known) == reason);
    index.map_or(0, |index| (index as u32 + 1) << REASON_SHIFT)
}

/// The completer's end.
pub(crate) struct Joiner {
    places: Arc<[TablePlace]>,
}

impl Joiner {
    /// So many chunks of packet `number` came back. Returns it if that was all of it.
    pub(crate) fn join(&self, number: u32, chunks: u32) -> Option<Ended> {
        self.places.get(number as usize)?.chunks_ended(chunks)
    }
}
