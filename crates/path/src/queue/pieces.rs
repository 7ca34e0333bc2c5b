//! Pieces that come back, and how long those that go may be.

use super::reaped::Reaped;
use super::shared::Shared;
use crate::packet::{Packet, PacketSink, SentMark};
use crate::rate::{RateMeter, RateSample};
use crate::sharing::{Sharing, Wide, Word};
use crate::split::{Joiner, Split};

/// What the completer does for super-packets that go in pieces.
pub(super) struct Pieces {
    joiner: Joiner,
    /// Pieces of one packet that came back and were not joined yet, and its number.
    back: u32,
    number: u32,
    /// What a piece may take, in ns, if that is a time.
    time_ns: Option<u64>,
    /// A piece came back: the rate is wanted. Where nothing is cut, nothing is measured.
    met: bool,
    /// The rate in bytes, where the queue's own meter does not measure that.
    meter: RateMeter,
    /// Bytes complete at the last round, and the rate that was found then.
    completed_bytes: u64,
    bytes_per_s: u64,
}

/// What a round says of the rate, in units of the limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    pub round: RateSample,
    /// The rate in bytes a second, where the queue measures it already.
    pub bytes_per_s: Option<u64>,
    pub are_packets: bool,
}

impl Pieces {
    pub fn new(joiner: Joiner, split: Split) -> Self {
        Self {
            joiner,
            back: 0,
            number: 0,
            time_ns: match split {
                Split::Time(ns) => Some(ns),
                Split::Off | Split::Auto | Split::Share(_) | Split::All => None,
            },
            met: false,
            meter: RateMeter::new(),
            completed_bytes: 0,
            bytes_per_s: 0,
        }
    }

    /// A piece came back. Its packet ends now or, if pieces did not come back in order, with the next
    /// [`join`](Self::join).
    #[inline]
    pub fn back<S: PacketSink + ?Sized>(&mut self, piece: &Packet, sink: &mut S) {
        let number = piece.cut_number();
        if number != self.number {
            self.join(sink);
            self.number = number;
        }
        // Before the sink, which may panic.
        self.back += 1;
        sink.piece_freed(piece);
        if piece.is_last_piece() {
            self.join(sink);
        }
    }

    /// Counts the pieces that came back: one access to what two threads share for a row of them.
    #[inline(never)]
    pub fn join<S: PacketSink + ?Sized>(&mut self, sink: &mut S) {
        let pieces = core::mem::take(&mut self.back);
        if pieces == 0 {
            return;
        }
        self.met = true;
        let Some(ended) = self.joiner.join(self.number, pieces) else {
            return;
        };
        match ended.reason {
            None => sink.freed(ended.whole),
            Some(reason) => sink.dropped(ended.whole, reason),
        }
    }

    /// Follows the rate with the length of the pieces.
    pub fn round<M: Sharing>(&mut self, shared: &Shared<M>, units: Units) {
        let Some(time_ns) = self.time_ns.filter(|_| self.met) else {
            return;
        };
        let total = shared.published.completer.completed_bytes.load();
        let bytes = total - core::mem::replace(&mut self.completed_bytes, total);
        let bytes_per_s = match units.bytes_per_s {
            Some(bytes_per_s) => bytes_per_s,
            None => self.measure(units, u32::try_from(bytes).unwrap_or(u32::MAX)),
        };
        if core::mem::replace(&mut self.bytes_per_s, bytes_per_s) != bytes_per_s {
            let most = u128::from(bytes_per_s) * u128::from(time_ns) / 1_000_000_000;
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            shared.piece_bytes.store(most);
        }
    }

    fn measure(&mut self, units: Units, bytes: u32) -> u64 {
        let mut round = units.round;
        if units.are_packets {
            // What is left is taken for as long as what finished.
            let each = bytes / round.units.max(1);
            round = RateSample {
                units: bytes,
                left: round.left.saturating_mul(each),
                object: each,
                ..round
            };
        }
        self.meter.record(round);
        self.meter.units_per_s()
    }

    /// What was in flight is forgotten.
    pub fn reset(&mut self) {
        self.meter.reset();
    }
}

/// Ends what came back and is no packet of this epoch and slice of time, or no whole one. `newest` is the
/// mark of the epoch that the sender began last.
#[cold]
#[inline(never)]
pub(super) fn end_odd<S: PacketSink + ?Sized>(
    packet: Packet,
    reaped: &mut Reaped,
    mark: SentMark,
    newest: impl FnOnce() -> SentMark,
    pieces: &mut Option<Pieces>,
    sink: &mut S,
) {
    let is_ours = reaped.count_piece(&packet, mark) || reaped.count_odd(&packet, mark, newest);
    match pieces {
        Some(pieces) if is_ours && packet.is_piece() => {
            reaped.has_pieces = true;
            pieces.back(&packet, sink);
        }
        _ if is_ours => sink.freed(packet),
        _ => sink.stray(packet),
    }
}
