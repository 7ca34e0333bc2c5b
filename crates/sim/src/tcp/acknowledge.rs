//! What acknowledgements and timers do to the sender: RTT samples, growth, loss recovery (RFC 6675),
//! timeouts (RFC 6298, 5) and marks (RFC 3168).

use super::scoreboard::DUP_THRESH;
use super::segment::Ack;
use super::sender::{NEVER_NS, Phase, TcpSender};

impl TcpSender {
    /// An acknowledgement arrives. Then call [`next_segment`](Self::next_segment) until it says
    /// `None`. One of data that was never sent is ignored (RFC 9293, 3.10.7.4).
    pub fn on_ack(&mut self, ack: &Ack, now_ns: u64) {
        if ack.cumulative > self.nxt || ack.cumulative < self.una {
            return;
        }
        let window_end = ack.cumulative.saturating_add(u64::from(ack.window_bytes));
        self.window_end = self.window_end.max(window_end);
        let before = self.una;
        let acked = ack.cumulative - before;
        if acked > 0 {
            self.una = ack.cumulative;
            self.round_trip
                .on_arrived(before, self.una, &self.config, now_ns);
            if self.una == self.nxt {
                self.rto_at_ns = NEVER_NS;
            } else {
                self.restart_rto(now_ns);
            }
        }
        let phase_before = self.phase;
        let in_order = phase_before == Phase::Open && self.scoreboard.is_empty();
        if !in_order || !ack.sack.is_empty() {
            self.on_ack_with_gaps(ack, acked, now_ns);
        }
        if ack.ece && self.config.ecn {
            self.on_mark_echoed(before);
        }
        if acked > 0 {
            self.grow(phase_before, before, acked, now_ns);
        }
    }

    /// Time has come to `now_ns`. Then call [`next_segment`](Self::next_segment) until it says
    /// `None`. Too early is harmless.
    pub fn on_timer(&mut self, now_ns: u64) {
        if self.rto_at_ns <= now_ns {
            self.on_timeout(now_ns);
        }
    }

    /// `acked` bytes from `before` on are acknowledged; `phase` is that before the acknowledgement.
    fn grow(&mut self, phase: Phase, before: u64, acked: u64, now_ns: u64) {
        if before >= self.full_to {
            self.controller.on_unused(now_ns);
            return;
        }
        let counted = match phase {
            Phase::Open => acked,
            // Also the acknowledgement that ends the recovery: it covers a window that was paid for.
            Phase::FastRecovery => return,
            // RFC 3465, 2.3: after a timeout an acknowledgement may jump over much that was never
            // lost, and counts for one segment.
            Phase::AfterTimeout => acked.min(self.controller.window.mss_bytes),
        };
        if self.phase == Phase::FastRecovery {
            return;
        }
        self.controller
            .on_ack(counted, self.round_trip.smoothed_ns(), now_ns);
    }

    /// Something is missing, or was.
    #[cold]
    fn on_ack_with_gaps(&mut self, ack: &Ack, acked: u64, now_ns: u64) {
        let mut news = 0;
        for (start, end) in ack.sacked() {
            let (start, end) = (start.max(self.una), end.min(self.nxt));
            if start < end {
                news += self.scoreboard.sack(start, end);
                self.round_trip.on_arrived(start, end, &self.config, now_ns);
            }
        }
        self.scoreboard.advance(self.una);
        if acked > 0 {
            self.dup_acks = 0;
            if self.phase != Phase::Open && self.una >= self.recovery_end {
                self.phase = Phase::Open;
                self.resend_first = false;
            }
        } else if news > 0 {
            // RFC 6675, 2: a duplicate is one that brings news of a range.
            self.dup_acks = self.dup_acks.saturating_add(1);
        }
        if self.phase == Phase::Open
            && !self.scoreboard.is_empty()
            && (self.dup_acks >= DUP_THRESH || self.loss_edge().offset > self.una)
        {
            self.enter_recovery();
        }
    }

    /// RFC 6675, 5, (4).
    fn enter_recovery(&mut self) {
        // What the last recovery sent again beyond its end is not sent a third time: that would
        // be for the timer.
        self.resend_first = self.scoreboard.next_gap().0 <= self.una;
        self.phase = Phase::FastRecovery;
        self.rescue = true;
        self.stats.recoveries += 1;
        if self.una >= self.recovery_end {
            self.reduce(self.flight_bytes(self.una));
        } else {
            // A mark has already reduced it for this window of data (RFC 3168, 6.1.2).
            self.recovery_end = self.nxt;
        }
    }

    /// Reduces the window, once for all that has been sent up to now.
    fn reduce(&mut self, flight_bytes: u64) {
        self.controller.on_congestion(flight_bytes);
        self.recovery_end = self.nxt;
        self.cwr_pending = self.config.ecn;
    }

    /// "FlightSize" before an acknowledgement that moved `una` from `from`, without what limited transmit let out beyond the window (RFC 5681, 3.2, 2.) and
    /// without what a timeout has long declared lost.
    fn flight_bytes(&self, from: u64) -> u64 {
        (self.nxt - from).min(self.controller.window.cwnd_bytes)
    }

    /// RFC 3168, 6.1.2: at most once for a window of data, and not where a loss has done it.
    fn on_mark_echoed(&mut self, before: u64) {
        if self.phase == Phase::Open && self.una > self.recovery_end {
            self.reduce(self.flight_bytes(before));
            self.stats.ecn_reductions += 1;
        }
    }

    /// RFC 6298, 5.4 to 5.6; RFC 5681, 3.1. The ranges stay known: the model's receiver never
    /// takes back what it has acknowledged, and RFC 6675, 5.1 sends only what is missing.
    fn on_timeout(&mut self, now_ns: u64) {
        if self.una == self.nxt {
            self.rto_at_ns = NEVER_NS;
            return;
        }
        // The threshold is held when the same segment times out again.
        if self.timed_out_una != self.una + 1 {
            self.controller.on_timeout(self.flight_bytes(self.una));
            self.timed_out_una = self.una + 1;
        }
        self.controller.window.cwnd_bytes = self.controller.window.mss_bytes;
        self.phase = Phase::AfterTimeout;
        self.recovery_end = self.nxt;
        self.cwr_pending = self.config.ecn;
        self.scoreboard.forget_resent(self.una);
        self.resend_first = true;
        self.rescue = false;
        self.dup_acks = 0;
        self.release_ns = now_ns;
        self.round_trip.forget_timed();
        self.round_trip.back_off();
        self.stats.timeouts += 1;
        self.restart_rto(now_ns);
    }

    /// "NextSeg" of RFC 6675, 4: a gap that is lost; else new data; else a gap that may be; else, once,
    /// the end of what was sent.
    pub(super) fn next_in_recovery(&mut self, pipe: u64) -> Option<(u64, u64)> {
        let window = &self.controller.window;
        let mss = window.mss_bytes;
        let room = window.cwnd_bytes.saturating_sub(pipe) >= mss;
        if !room && !self.resend_first {
            self.full_to = self.nxt;
            return None;
        }
        let (gap, gap_end) = self.scoreboard.next_gap();
        // Only what was sent before a timeout can be lost with nothing above it.
        let end = gap_end
            .unwrap_or(self.recovery_end)
            .min(gap.saturating_add(mss))
            .min(self.nxt);
        if (gap < self.loss_edge().offset || self.resend_first) && gap < end {
            return Some((gap, end - gap));
        }
        if let Some(new) = self.new_data(pipe) {
            return Some(new);
        }
        if self.phase == Phase::FastRecovery {
            if Some(gap) < self.scoreboard.highest() && gap < end {
                return Some((gap, end - gap));
            }
            return self.rescue();
        }
        None
    }

    /// The last segment sent and not known to have arrived. It leaves "HighRxt" where it is.
    fn rescue(&self) -> Option<(u64, u64)> {
        let from = self.scoreboard.highest().unwrap_or(self.una).max(self.una);
        let bytes = (self.nxt - from).min(self.controller.window.mss_bytes);
        (self.rescue && bytes > 0).then_some((self.nxt - bytes, bytes))
    }

    /// What [`next_in_recovery`](Self::next_in_recovery) chose was sent.
    pub(super) fn on_resent(&mut self, start: u64, end: u64) {
        self.resend_first = false;
        let is_rescue =
            self.phase == Phase::FastRecovery && Some(start) >= self.scoreboard.highest();
        if is_rescue {
            self.rescue = false;
        } else {
            self.scoreboard.on_resent(start, end);
        }
    }
}
