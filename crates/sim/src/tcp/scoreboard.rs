//! What the sender knows of its segments beyond the cumulative acknowledgement, RFC 6675: in
//! ranges, never segment by segment, and nothing at all while nothing is missing.

use super::ranges::Ranges;

/// RFC 6675, 2: so many ranges (or more than one segment fewer in bytes) above a gap make it lost.
pub(super) const DUP_THRESH: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    sacked_bytes: u64,
    /// "HighRxt": every gap below has been sent again in this recovery.
    resent_to: u64,
    sacked_below_resent_bytes: u64,
}

/// Everything unsacked below `offset` is lost (the "IsLost" of RFC 6675 holds for all of it or, as
/// it is monotonic, for none above).
#[derive(Clone, Copy, Debug)]
pub(super) struct LossEdge {
    pub offset: u64,
    /// Selectively acknowledged at or above `offset`.
    pub sacked_above_bytes: u64,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// The end of the highest range that was selectively acknowledged.
    pub fn highest(&self) -> Option<u64> {
        self.sacked.end()
    }

    /// `[start, end)` has arrived; says how many of its bytes are news.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        let below = self.sacked.insert(start, end.min(self.resent_to));
        let above = self.sacked.insert(start.max(self.resent_to), end);
        self.sacked_below_resent_bytes += below;
        self.sacked_bytes += below + above;
        below + above
    }

    /// Everything before `una` is acknowledged.
    pub fn advance(&mut self, una: u64) {
        let removed = self.sacked.remove_before(una);
        self.sacked_bytes -= removed;
        if una > self.resent_to {
            self.resent_to = una;
            self.sacked_below_resent_bytes = 0;
        } else {
            self.sacked_below_resent_bytes -= removed;
        }
    }

    /// After a timeout: what was sent again is lost too.
    pub fn forget_resent(&mut self, una: u64) {
        self.resent_to = una;
        self.sacked_below_resent_bytes = 0;
    }

    /// The lowest gap not yet sent again: its start, and its end if a range closes it.
    pub fn next_gap(&self) -> (u64, Option<u64>) {
        self.sacked.gap_from(self.resent_to)
    }

    /// `[start, end)`, a part of [`next_gap`](Self::next_gap), was sent again.
    pub fn on_resent(&mut self, start: u64, end: u64) {
        // Between the two lies no gap, only what was selectively acknowledged.
        self.sacked_below_resent_bytes += start - self.resent_to;
        self.resent_to = end;
    }

    /// What the ranges say is lost.
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

    /// The same after a timeout, when all that was sent before it counts as lost.
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

    /// "SetPipe": what is on its way. What is not lost counts, and what was sent again counts.
    pub fn pipe_bytes(&self, una: u64, nxt: u64, edge: LossEdge) -> u64 {
        let not_lost = nxt
            .saturating_sub(edge.offset)
            .saturating_sub(edge.sacked_above_bytes);
        let resent = self.resent_to.saturating_sub(una);
        not_lost + resent.saturating_sub(self.sacked_below_resent_bytes)
    }
}
