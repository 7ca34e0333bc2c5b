//! Processing of acknowledgements and timers in the sender: RTT samples, growth, loss recovery (RFC
//! 6675), timeouts (RFC 6298, 5) and marks (RFC 3168).

use super::scoreboard::DUP_THRESH;
use super::segment::{Ack, SackBlocks};
use super::sender::{Phase, TcpSender};
use crate::NEVER_NS;

impl TcpSender {
    /// Processes an acknowledgement. Then call [`next_segment`](Self::next_segment) until it
    /// returns `None`. Ignores acknowledgements of data that was never sent (RFC 9293, 3.10.7.4).
    pub fn on_ack(&mut self, ack: &Ack, now_ns: u64) {
        let reach = (ack.cumulative, ack.window_bytes);
        self.on_parts_of_ack(reach, (&ack.sack, ack.ece), now_ns);
    }

    /// Processes the parts of an [`Ack`], so that the caller need not build one in memory.
    #[inline(always)]
    pub(crate) fn on_parts_of_ack(
        &mut self,
        (cumulative, window_bytes): (u64, u32),
        (sack, ece): (&SackBlocks, bool),
        now_ns: u64,
    ) {
        if cumulative > self.nxt || cumulative < self.una {
            return;
        }
        let window_end = cumulative.saturating_add(u64::from(window_bytes));
        self.window_end = self.window_end.max(window_end);
        let before = self.una;
        let acked = cumulative - before;
        if acked > 0 {
            self.una = cumulative;
            self.round_trip
                .on_arrived(before, self.una, &self.config, now_ns);
            if self.una == self.nxt {
                self.rto_at_ns = NEVER_NS;
            } else {
                self.restart_rto(now_ns);
            }
        }
        let phase_before = self.recovery.phase;
        if self.has_gaps() || !sack.is_empty() {
            self.on_ack_with_gaps(cumulative, sack, acked, now_ns);
        }
        if ece && self.config.ecn {
            self.on_mark_echoed(before);
        }
        if self.collapses() {
            self.collapse();
        } else if acked > 0 {
            self.grow(phase_before, before, acked, now_ns);
        }
    }

    /// Returns `true` until the data sent before the reaction to a mark is acknowledged.
    #[inline]
    fn collapses(&self) -> bool {
        self.stats.ecn_reductions > 0
            && self.una <= self.recovery.end
            && self.recovery.phase == Phase::Open
            && self.config.mark_collapses
    }

    #[cold]
    fn collapse(&mut self) {
        let max_bytes = self.in_flight_bytes() + self.mss_bytes();
        self.window.cwnd_bytes = self.window.cwnd_bytes.min(max_bytes);
    }

    /// Processes a timer at `now_ns`. Then call [`next_segment`](Self::next_segment) until it
    /// returns `None`. A call before the timer is due has no effect.
    pub fn on_timer(&mut self, now_ns: u64) {
        if self.rto_at_ns <= now_ns {
            self.on_timeout(now_ns);
        }
    }

    /// Returns `true` during a recovery or while out-of-order data is known.
    #[inline]
    pub(super) fn has_gaps(&self) -> bool {
        self.recovery.phase != Phase::Open || !self.recovery.scoreboard.is_empty()
    }

    /// Processes `acked` newly acknowledged bytes from `before` on, in the previous `phase`.
    #[inline]
    fn grow(&mut self, phase: Phase, before: u64, acked: u64, now_ns: u64) {
        if before >= self.full_to {
            self.rule.on_unused(now_ns);
            return;
        }
        let counted = match phase {
            Phase::Open => acked,
            // The acknowledgement that ends the recovery covers a window that was already counted.
            Phase::FastRecovery => return,
            // RFC 3465, 2.3: after a timeout, an acknowledgement can cover much data that was never
            // lost, and counts for one segment.
            Phase::AfterTimeout => acked.min(self.mss_bytes()),
        };
        if self.recovery.phase == Phase::FastRecovery {
            return;
        }
        let mss = self.mss_bytes();
        let max_segments = self.config.growth_segments;
        if self.window.in_slow_start() {
            let max_bytes = u64::from(max_segments.unwrap_or(2)) * mss;
            // With two segments (RFC 3465), the window doubles in a round trip although only every
            // second segment is acknowledged.
            return self.window.grow(counted.min(max_bytes));
        }
        let counted = max_segments.map_or(counted, |max| counted.min(u64::from(max) * mss));
        let srtt_ns = self.round_trip.smoothed_ns;
        self.rule.on_ack(&mut self.window, counted, srtt_ns, now_ns);
    }

    /// Processes an acknowledgement during or after a loss.
    #[cold]
    fn on_ack_with_gaps(&mut self, cumulative: u64, sack: &SackBlocks, acked: u64, now_ns: u64) {
        let (una, nxt) = (self.una, self.nxt);
        let mut newly_sacked = 0;
        for (start, end) in sack.above(cumulative) {
            let (start, end) = (start.max(una), end.min(nxt));
            if start < end {
                newly_sacked += self.recovery.scoreboard.sack(start, end);
                self.round_trip.on_arrived(start, end, &self.config, now_ns);
            }
        }
        let is_open = self.recovery.phase == Phase::Open;
        let recovery = &mut self.recovery;
        recovery.scoreboard.advance(una);
        if acked > 0 {
            recovery.dup_acks = 0;
            if !is_open && una >= recovery.end {
                recovery.resend_first = false;
                self.recovery.phase = Phase::Open;
            }
        } else if newly_sacked > 0 {
            // RFC 6675, 2: a duplicate acknowledgement contains new SACK information.
            recovery.dup_acks = recovery.dup_acks.saturating_add(1);
        }
        if self.recovery.phase == Phase::Open && self.is_lost() {
            self.enter_recovery();
        }
    }

    /// Returns `true` if the first unacknowledged segment counts as lost.
    fn is_lost(&self) -> bool {
        !self.recovery.scoreboard.is_empty()
            && (self.recovery.dup_acks >= DUP_THRESH || self.lost_to() > self.una)
    }

    /// Enters the loss recovery: RFC 6675, 5, (4).
    fn enter_recovery(&mut self) {
        let (una, nxt) = (self.una, self.nxt);
        self.recovery.phase = Phase::FastRecovery;
        let recovery = &mut self.recovery;
        // Data that the last recovery sent again beyond its end is not sent a third time; its loss
        // is left to the timer.
        recovery.resend_first = recovery.scoreboard.next_gap().0 <= una;
        recovery.rescue = true;
        self.stats.recoveries += 1;
        if una >= recovery.end {
            self.reduce(self.flight_bytes(una));
        } else {
            // A mark has already reduced the window for this data (RFC 3168, 6.1.2).
            recovery.end = nxt;
        }
    }

    /// Reduces the window, once for all data sent so far.
    fn reduce(&mut self, flight_bytes: u64) {
        self.rule.on_congestion(&mut self.window, flight_bytes);
        self.recovery.end = self.nxt;
        self.recovery.cwr_pending = self.config.ecn;
    }

    /// Returns "FlightSize" before an acknowledgement that moved `una` from `from`. Excludes data
    /// sent beyond the window by limited transmit (RFC 5681, 3.2, 2.) and data that a timeout has
    /// declared lost.
    fn flight_bytes(&self, from: u64) -> u64 {
        (self.nxt - from).min(self.window.cwnd_bytes)
    }

    /// Reacts to a mark at most once per window, and not after a loss (RFC 3168, 6.1.2).
    #[cold]
    fn on_mark_echoed(&mut self, before: u64) {
        if self.recovery.phase == Phase::Open && self.una > self.recovery.end {
            self.reduce(self.flight_bytes(before));
            self.stats.ecn_reductions += 1;
        }
    }

    /// Processes a timeout: RFC 6298, 5.4 to 5.6; RFC 5681, 3.1. The ranges are kept: the model's
    /// receiver never discards acknowledged data, and RFC 6675, 5.1 sends only missing data.
    #[cold]
    fn on_timeout(&mut self, now_ns: u64) {
        let (una, nxt) = (self.una, self.nxt);
        if una == nxt {
            self.rto_at_ns = NEVER_NS;
            return;
        }
        // The threshold is kept when the same segment times out again.
        if self.recovery.timed_out_una != una + 1 {
            let flight_bytes = self.flight_bytes(una);
            self.rule.on_timeout(&mut self.window, flight_bytes);
            self.recovery.timed_out_una = una + 1;
        }
        self.window.cwnd_bytes = self.mss_bytes();
        self.recovery.phase = Phase::AfterTimeout;
        self.recovery.cwr_pending = self.config.ecn;
        let recovery = &mut self.recovery;
        recovery.end = nxt;
        recovery.scoreboard.forget_resent(una);
        recovery.resend_first = true;
        recovery.rescue = false;
        recovery.dup_acks = 0;
        self.stats.timeouts += 1;
        self.round_trip.timed_end = 0;
        self.round_trip.back_off(&self.config);
        self.restart_rto(now_ns);
    }

    /// Returns "NextSeg" of RFC 6675, 4. In order: a gap that is lost, new data, a gap that might
    /// be lost, and once the end of the sent data.
    pub(super) fn next_in_recovery(&mut self, pipe: u64) -> Option<(u64, u64)> {
        let mss = self.mss_bytes();
        let room = self.window.cwnd_bytes.saturating_sub(pipe) >= mss;
        let resend_first = self.recovery.resend_first;
        if !room && !resend_first {
            self.full_to = self.nxt;
            return None;
        }
        let (gap, gap_end) = self.recovery.scoreboard.next_gap();
        // Only data sent before a timeout can be lost with nothing above it.
        let end = gap_end
            .unwrap_or(self.recovery.end)
            .min(gap.saturating_add(mss))
            .min(self.nxt);
        if (gap < self.lost_to() || resend_first) && gap < end {
            return Some((gap, end - gap));
        }
        let highest = self.recovery.scoreboard.highest();
        if let Some(new) = self.new_data(pipe) {
            return Some(new);
        }
        if self.recovery.phase == Phase::FastRecovery {
            if Some(gap) < highest && gap < end {
                return Some((gap, end - gap));
            }
            return self.rescue();
        }
        None
    }

    /// Returns the last segment sent and not known to have arrived. Keeps "HighRxt".
    fn rescue(&self) -> Option<(u64, u64)> {
        let highest = self.recovery.scoreboard.highest();
        let from = highest.unwrap_or(self.una).max(self.una);
        let bytes = (self.nxt - from).min(self.mss_bytes());
        (self.recovery.rescue && bytes > 0).then_some((self.nxt - bytes, bytes))
    }

    /// Records that the segment from [`next_in_recovery`](Self::next_in_recovery) was sent.
    pub(super) fn on_resent(&mut self, start: u64, end: u64) {
        let is_fast = self.recovery.phase == Phase::FastRecovery;
        let recovery = &mut self.recovery;
        recovery.resend_first = false;
        if is_fast && Some(start) >= recovery.scoreboard.highest() {
            recovery.rescue = false;
        } else {
            recovery.scoreboard.on_resent(end);
        }
    }
}
