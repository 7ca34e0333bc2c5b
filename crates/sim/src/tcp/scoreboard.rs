//! The sender's SACK scoreboard, RFC 6675, in ranges instead of segments. It is empty, without
//! allocated memory, while no data is lost.

use rangemap::RangeSet;

/// RFC 6675, 2: a gap is lost if this many ranges (or more than one segment less in bytes) are
/// above it.
pub(super) const DUP_THRESH: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: RangeSet<u64>,
    /// "HighRxt": every gap below was sent again in this recovery.
    resent_to: u64,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Returns the end of the highest selectively acknowledged range.
    pub fn highest(&self) -> Option<u64> {
        self.sacked.last().map(|it| it.end)
    }

    /// Records that `[start, end)` has arrived. Returns the number of new bytes.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        let new = self.unsacked_bytes(start, end);
        if new > 0 {
            self.sacked.insert(start..end);
        }
        new
    }

    /// Records that everything before `una` is acknowledged.
    pub fn advance(&mut self, una: u64) {
        if una > 0 {
            self.sacked.remove(0..una);
        }
        self.resent_to = self.resent_to.max(una);
    }

    /// Marks retransmitted data as lost, after a timeout.
    pub fn forget_resent(&mut self, una: u64) {
        self.resent_to = una;
    }

    /// Returns the lowest gap not yet sent again: its start, and its end if a range closes it.
    pub fn next_gap(&self) -> (u64, Option<u64>) {
        let range = self.sacked.get(&self.resent_to);
        let start = range.map_or(self.resent_to, |it| it.end);
        let next = self.sacked.overlapping(start..u64::MAX).next();
        (start, next.map(|it| it.start))
    }

    /// Records that [`next_gap`](Self::next_gap) was sent again up to `end`.
    pub fn on_resent(&mut self, end: u64) {
        self.resent_to = end;
    }

    /// Returns the offset below which everything unsacked is lost. The "IsLost" of RFC 6675 is
    /// monotonic: it is true for all data below and for none above.
    pub fn lost_to(&self, una: u64, mss_bytes: u64) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for range in self.sacked.iter().rev() {
            ranges += 1;
            bytes += range.end - range.start;
            if ranges >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * mss_bytes {
                return range.start;
            }
        }
        una
    }

    /// Returns "SetPipe", the bytes in flight: data that is not lost (at or above `lost_to`), and
    /// data that was sent again.
    pub fn pipe_bytes(&self, una: u64, nxt: u64, lost_to: u64) -> u64 {
        self.unsacked_bytes(lost_to, nxt) + self.unsacked_bytes(una, self.resent_to)
    }

    /// Returns the bytes of `[start, end)` that are not selectively acknowledged.
    fn unsacked_bytes(&self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let range = start..end;
        let gaps = self.sacked.gaps(&range);
        gaps.map(|gap| gap.end - gap.start).sum()
    }
}
