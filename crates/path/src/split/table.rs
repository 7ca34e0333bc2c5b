//! The packets that are cut at the moment, and how the two halves of a queue agree on their ends.
//!
//! The sender holds the rest of each. When it gives up the last of it, it leaves the whole packet here;
//! whoever finds then that no piece is left takes it and ends it. A piece is counted before the device
//! can see it, so that the count never is too low.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::num::NonZeroU32;

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicU32, Ordering};

use crate::packet::{DropReason, MOST_SEGMENTS, Packet, SentMark};

/// What is known of a packet that is cut; this if the place is free.
const FREE: u32 = 0;
/// Pieces that the device has.
const PIECES: u32 = MOST_SEGMENTS - 1;
/// There is a rest, or there was one.
const TAKEN: u32 = 1 << 17;
/// There is no rest any more: the packet is left here.
const CLOSED: u32 = 1 << 18;
/// Why the rest was dropped, if it was: one more than the index of the reason.
const REASON_SHIFT: u32 = 20;

/// Packets that can be cut at a time: as many as a mark tells apart. A model checker follows each place.
const PLACES: u32 = if cfg!(loom) { 1 } else { SentMark::RESTS };

struct Place {
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

impl Place {
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

    /// One piece less. Returns the packet if that was all of it.
    #[inline]
    fn piece_ended(&self) -> Option<Ended> {
        let was = self.state.fetch_sub(1, Ordering::AcqRel);
        if was & (CLOSED | PIECES) != CLOSED | 1 {
            return None;
        }
        self.end(was)
    }
}

/// Makes the two ends of a table. `pieces_in_limit`: how long pieces are, where a limit says so.
pub(crate) fn table(pieces_in_limit: Option<NonZeroU32>) -> (Cutter, Joiner) {
    let places: Arc<[Place]> = (0..PLACES)
        .map(|_| Place {
            state: AtomicU32::new(FREE),
            whole: ConcurrentQueue::bounded(1),
        })
        .collect();
    let cutter = Cutter {
        next_segments: places.iter().map(|_| 0).collect(),
        next: 0,
        places: places.clone(),
        pieces_in_limit,
    };
    (cutter, Joiner { places })
}

/// The sender's end.
pub(crate) struct Cutter {
    places: Arc<[Place]>,
    /// The first segment of each rest.
    next_segments: Box<[u32]>,
    /// Where to look for a free place first.
    next: u32,
    /// How many pieces a limit has, where that says how long they are.
    pub pieces_in_limit: Option<NonZeroU32>,
}

/// How a packet is about to be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    number: u32,
    first_segment: u32,
    segments: u32,
    /// Length of the piece.
    pub bytes: u32,
    is_last: bool,
}

impl Plan {
    /// Whether nothing of the packet was sent before.
    pub const fn is_first(&self) -> bool {
        self.first_segment == 0
    }
}

impl Cutter {
    /// How much of `packet` goes now, if no more than `most_bytes` should; `None` if it goes whole.
    /// Nothing changes.
    #[inline]
    pub fn plan(&self, packet: &Packet, most_bytes: u32) -> Option<Plan> {
        let number = packet.rest_number();
        if number.is_none() && packet.wire_bytes() <= most_bytes {
            return None;
        }
        let cut = packet.segmentation?;
        let (all, each) = (packet.segments(), u32::from(cut.payload_bytes.get()));
        let fit = most_bytes.saturating_sub(cut.header_bytes.into()) / each;
        let segments = fit.clamp(1, all);
        let is_last = segments == all;
        let (number, first_segment) = match number {
            Some(number) => (number, self.next_segments[number as usize]),
            None if is_last || all >= MOST_SEGMENTS => return None,
            None => (self.free()?, 0),
        };
        Some(Plan {
            number,
            first_segment,
            segments,
            bytes: packet.bytes_of(segments),
            is_last,
        })
    }

    /// A place that nobody uses; when all are in use, a packet goes whole.
    #[inline]
    fn free(&self) -> Option<u32> {
        let places = self.places.len() as u32;
        (0..places)
            .map(|tried| (self.next + tried) % places)
            .find(|&number| self.state(number).load(Ordering::Acquire) == FREE)
    }

    fn state(&self, number: u32) -> &AtomicU32 {
        &self.places[number as usize].state
    }

    /// Cuts `packet` as planned: gives the piece, which counts as in the device, and the rest if there
    /// is one; if there is none, the packet is left in the table, without its charge if the driver
    /// `lets_go` of that.
    #[inline]
    pub fn cut(
        &mut self,
        plan: Plan,
        mut packet: Packet,
        lets_go: bool,
    ) -> (Packet, Option<Packet>) {
        let number = plan.number;
        let mut piece = packet.piece_of(number, plan.first_segment, plan.bytes, plan.is_last);
        if plan.is_last {
            if lets_go && packet.take_charge().is_some() {
                piece.let_go();
            }
            // Counted first: nobody ends it before it is there.
            self.state(number).fetch_add(1, Ordering::AcqRel);
            self.leave(packet, None);
            return (piece, None);
        }
        if plan.is_first() {
            self.state(number).store(TAKEN | 1, Ordering::Release);
            self.next = number + 1;
        } else {
            self.state(number).fetch_add(1, Ordering::AcqRel);
        }
        self.next_segments[number as usize] = plan.first_segment + plan.segments;
        packet.become_rest(number, plan.bytes - header_bytes(&packet));
        (piece, Some(packet))
    }

    /// The device did not take `piece`, behind which `rest` was left. Returns the packet if nothing of
    /// it is in the device.
    pub fn refused(&mut self, piece: &Packet, rest: Option<Packet>) -> Option<Ended> {
        let number = piece.cut_number();
        let reason = DropReason::DeviceRefused;
        match rest {
            Some(rest) => self.leave(rest, Some(reason)),
            // The refused piece still counts, so that nobody ended it.
            None => {
                let bits = reason_bits(Some(reason));
                self.state(number).fetch_or(bits, Ordering::AcqRel);
            }
        }
        self.places[number as usize].piece_ended()
    }

    /// Drops a rest. Returns the packet if nothing of it is in the device; else it ends with the last
    /// piece.
    pub fn dropped(&mut self, rest: Packet, reason: DropReason) -> Option<Ended> {
        let number = rest.rest_number()?;
        // As if one more piece were there, until the packet is.
        self.state(number).fetch_add(1, Ordering::AcqRel);
        self.leave(rest, Some(reason));
        self.places[number as usize].piece_ended()
    }

    /// Leaves the packet of a rest for whoever ends the last piece. One piece at least counts.
    fn leave(&mut self, mut rest: Packet, reason: Option<DropReason>) {
        let Some(number) = rest.rest_number() else {
            return;
        };
        rest.become_whole(self.next_segments[number as usize]);
        // There is room: the place is this packet's alone.
        let _ = self.places[number as usize].whole.push(rest);
        let bits = CLOSED | reason_bits(reason);
        self.state(number).fetch_or(bits, Ordering::AcqRel);
    }
}

fn header_bytes(packet: &Packet) -> u32 {
    packet.segmentation.map_or(0, |cut| cut.header_bytes.into())
}

fn reason_bits(reason: Option<DropReason>) -> u32 {
    let index = DropReason::ALL
        .iter()
        .position(|&known| Some(known) == reason);
    index.map_or(0, |index| (index as u32 + 1) << REASON_SHIFT)
}

/// The completer's end.
pub(crate) struct Joiner {
    places: Arc<[Place]>,
}

impl Joiner {
    /// A piece came back. Returns its packet if that was all of it.
    #[inline]
    pub fn join(&self, piece: &Packet) -> Option<Ended> {
        self.places.get(piece.cut_number() as usize)?.piece_ended()
    }
}
