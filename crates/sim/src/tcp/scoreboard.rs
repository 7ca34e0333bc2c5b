//! The sender's SACK scoreboard, RFC 6675, in ranges instead of segments, and empty without losses.

use super::ranges::Ranges;

/// RFC 6675, 2: a gap is lost if this many ranges (or more than one segment less in bytes) are
/// above it.
pub(super) const DUP_THRESH: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    /// "HighRxt": every gap below was sent again in this recovery.
    resent_to: u64,
    sacked_below_resent_bytes: u64,
}

/// The offset below which everything unsacked is lost. The "IsLost" of RFC 6675 is monotonic: it is
/// true for all data below and for none above.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossEdge {
    pub offset: u64,
    /// Bytes selectively acknowledged at or above `offset`.
    pub sacked_above_bytes: u64,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Returns the end of the highest selectively acknowledged range.
    pub fn highest(&self) -> Option<u64> {
        self.sacked.end()
    }

    /// Records that `[start, end)` has arrived. Returns the number of new bytes.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        let below = self.sacked.insert(start, end.min(self.resent_to));
        let above = self.sacked.insert(start.max(self.resent_to), end);
        self.sacked_below_resent_bytes += below;
        below + above
    }

    /// Records that everything before `una` is acknowledged.
    pub fn advance(&mut self, una: u64) {
        let removed = self.sacked.remove_before(una);
        if una > self.resent_to {
            self.resent_to = una;
            self.sacked_below_resent_bytes = 0;
        } else {
            self.sacked_below_resent_bytes -= removed;
        }
    }

    /// Marks retransmitted data as lost, after a timeout.
    pub fn forget_resent(&mut self, una: u64) {
        self.resent_to = una;
        self.sacked_below_resent_bytes = 0;
    }

    /// Returns the lowest gap not yet sent again: its start, and its end if a range closes it.
    pub fn next_gap(&self) -> (u64, Option<u64>) {
        self.sacked.gap_from(self.resent_to)
    }

    /// Records that `[start, end)`, a part of [`next_gap`](Self::next_gap), was sent again.
    pub fn on_resent(&mut self, start: u64, end: u64) {
        // There is no gap between the two, only selectively acknowledged data.
        self.sacked_below_resent_bytes += start - self.resent_to;
        self.resent_to = end;
    }

    /// Returns the loss edge according to the ranges.
    pub fn loss_edge(&self, una: u64, mss_bytes: u64) -> LossEdge {
        let mut edge = LossEdge {
            offset: una,
            sacked_above_bytes: 0,
        };
        let mut ranges = 0;
        for (start, end) in self.sacked.descending() {
            edge.sacked_above_bytes += end - start;
            ranges += 1;
            let bytes_suffice = edge.sacked_above_bytes > u64::from(DUP_THRESH - 1) * mss_bytes;
            if ranges >= DUP_THRESH || bytes_suffice {
                edge.offset = start;
                break;
            }
        }
        edge
    }

    /// Returns the loss edge after a timeout, when all data sent before it counts as lost.
    pub fn edge_at(&self, offset: u64) -> LossEdge {
        let above = self
            .sacked
            .descending()
            .map(|(start, end)| end.saturating_sub(start.max(offset)));
        LossEdge {
            offset,
            sacked_above_bytes: above.take_while(|&bytes| bytes > 0).sum(),
        }
    }

    /// Returns "SetPipe", the bytes in flight: data that is not lost, and data that was sent again.
    pub fn pipe_bytes(&self, una: u64, nxt: u64, edge: LossEdge) -> u64 {
        let not_lost = nxt
            .saturating_sub(edge.offset)
            .saturating_sub(edge.sacked_above_bytes);
        let resent = self.resent_to.saturating_sub(una);
        not_lost + resent.saturating_sub(self.sacked_below_resent_bytes)
    }
}
