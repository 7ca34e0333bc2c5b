//! What a driver handed back, sorted by when it was sent.

use crate::limit::Done;
use crate::packet::{Packet, SentMark};

/// What was handed back and not yet accounted for. Kept with the queue, so that what a sink that
/// panics has seen is counted by the next round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reaped {
    /// Of this epoch.
    pub done: Count,
    /// Of a later one, whose reset this half has not ended yet, and its mark.
    pub next: Count,
    pub next_mark: SentMark,
    pub late_packets: u32,
    pub stray_packets: u32,
    /// Of this epoch, and of the slice of time before or after the one that this half is in.
    pub other_slice: Count,
    /// Any of these four.
    pub is_odd: bool,
    /// Pieces, whose packets may end.
    pub has_pieces: bool,
}

/// Packets and their bytes, of which a round can have more than a limit in bytes lets through.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub packets: u32,
    pub bytes: u64,
}

impl Count {
    pub const NOTHING: Self = Self {
        packets: 0,
        bytes: 0,
    };

    #[inline]
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }

    /// As a rule and a probe hear of it.
    #[inline]
    pub fn done(self) -> Done {
        Done {
            packets: self.packets,
            bytes: u32::try_from(self.bytes).unwrap_or(u32::MAX),
        }
    }
}

impl Reaped {
    pub const NOTHING: Self = Self {
        done: Count::NOTHING,
        next: Count::NOTHING,
        next_mark: SentMark::NEVER,
        late_packets: 0,
        stray_packets: 0,
        other_slice: Count::NOTHING,
        is_odd: false,
        has_pieces: false,
    };

    /// A new epoch: what was sent in another does not count any more.
    pub fn begin_epoch(&mut self, mark: SentMark) {
        let (done, next) = (self.done, core::mem::take(&mut self.next));
        self.late_packets += done.packets;
        self.late_packets += core::mem::take(&mut self.other_slice).packets;
        self.done = Count::NOTHING;
        if self.next_mark.is_of_epoch(mark) {
            self.done = next;
        } else {
            self.late_packets += next.packets;
        }
    }

    /// Counts a packet of an epoch that began after the one that this half is in.
    fn count_next(&mut self, bytes: u32, newest: SentMark) {
        if !self.next_mark.is_of_epoch(newest) {
            // Another reset began since: what it does not count was sent before it.
            self.late_packets += core::mem::take(&mut self.next).packets;
            self.next_mark = newest;
        }
        self.next.add(bytes);
    }

    /// Counts a packet that came back, if it is whole and of the epoch and slice of `mark`; says
    /// whether.
    #[inline]
    pub fn count(&mut self, sent: SentMark, bytes: u32, mark: SentMark) -> bool {
        let is_plain = sent == mark;
        if is_plain {
            self.done.add(bytes);
        }
        is_plain
    }

    /// The same for a piece.
    #[inline]
    pub fn count_piece(&mut self, packet: &Packet, mark: SentMark) -> bool {
        let is_plain = packet.sent == mark.of_piece() && packet.is_piece();
        if is_plain {
            self.done.add(packet.wire_bytes());
        }
        is_plain
    }

    /// Counts one that these two did not, and says whether it is of this queue. `newest` is
    /// the mark of the epoch that the sender began last.
    #[inline]
    pub fn count_odd(
        &mut self,
        packet: &Packet,
        mark: SentMark,
        newest: impl FnOnce() -> SentMark,
    ) -> bool {
        let (sent, bytes) = (packet.sent.of_whole(), packet.wire_bytes());
        let newest = newest();
        self.is_odd = true;
        if sent == mark {
            self.done.add(bytes);
        } else if sent == mark.other_slice() {
            self.other_slice.add(bytes);
        } else if sent.is_of_epoch(newest) {
            self.count_next(bytes, newest);
        } else if sent.is_of_queue(mark) {
            self.late_packets += 1;
        } else {
            self.stray_packets += 1;
        }
        sent.is_of_queue(mark)
    }
}
