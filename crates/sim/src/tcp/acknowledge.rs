//! What acknowledgements and timers do to the sender: RTT samples, growth, loss recovery (RFC
//! 6675), timeouts (RFC 6298, 5) and marks (RFC 3168).

use super::congestion::{CongestionControl, Window};
use super::rest::Rest;
use super::scoreboard::DUP_THRESH;
use super::segment::{Ack, SackBlocks};
use super::sender::{Phase, TcpSender};
use crate::NEVER_NS;

impl TcpSender {
    /// An acknowledgement arrives. Then call [`next_segment`](Self::next_segment) until it says
    /// `None`. One of data that was never sent is ignored (RFC 9293, 3.10.7.4).
    pub fn on_ack(&mut self, ack: &Ack, now_ns: u64) {
        self.on_parts_of_ack(
            (ack.cumulative, ack.window_bytes),
            (&ack.sack, ack.ece),
            now_ns,
        );
    }

    /// The same of what an [`Ack`] is made of, for who has it in parts: none is made that is in
    /// memory only to be looked at.
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
        let phase_before = self.phase;
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

    /// Until what was sent before the answer to a mark is acknowledged. The settings are looked at
    /// last: they are in a line of the cache of their own.
    #[inline]
    fn collapses(&self) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| rest.ecn_reductions > 0 && self.una <= rest.recovery_end)
            && self.phase == Phase::Open
            && self.config.mark_collapses
    }

    #[cold]
    fn collapse(&mut self) {
        let most_bytes = self.in_flight_bytes() + self.mss_bytes();
        let cwnd_bytes = self.window.cwnd_bytes();
        self.window.set_cwnd(cwnd_bytes.min(most_bytes));
    }

    /// Time has come to `now_ns`. Then call [`next_segment`](Self::next_segment) until it says
    /// `None`. Too early is harmless.
    pub fn on_timer(&mut self, now_ns: u64) {
        if self.rto_at_ns <= now_ns {
            self.on_timeout(now_ns);
        }
    }

    /// Something is being mended, or known to have arrived out of order.
    #[inline]
    fn has_gaps(&self) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| self.phase != Phase::Open || !rest.scoreboard.is_empty())
    }

    /// `acked` bytes from `before` on are acknowledged; `phase` is that before the acknowledgement.
    #[inline]
    fn grow(&mut self, phase: Phase, before: u64, acked: u64, now_ns: u64) {
        if before >= self.full_to {
            self.on_unused(now_ns);
            return;
        }
        let counted = match phase {
            Phase::Open => acked,
            // Also the acknowledgement that ends the recovery: it covers a window that was paid
            // for.
            Phase::FastRecovery => return,
            // RFC 3465, 2.3: after a timeout an acknowledgement may jump over much that was never
            // lost, and counts for one segment.
            Phase::AfterTimeout => acked.min(self.mss_bytes()),
        };
        if self.phase == Phase::FastRecovery {
            return;
        }
        let mss = self.mss_bytes();
        let most_segments = self.config.growth_segments;
        if self.window.in_slow_start() {
            let most_bytes = u64::from(most_segments.unwrap_or(2)) * mss;
            return self.window.grow_in_slow_start(counted, most_bytes);
        }
        let counted = most_segments.map_or(counted, |most| counted.min(u64::from(most) * mss));
        let srtt_ns = self.round_trip.smoothed_ns();
        self.move_window(|rest, window| rest.rule.on_ack(window, counted, srtt_ns, now_ns));
    }

    /// Lets the rule move the window.
    fn move_window(&mut self, moves: impl FnOnce(&mut Rest, &mut Window)) {
        let (mut short, mss) = (self.window, self.mss_bytes());
        short.moved(mss, |window| moves(self.rest(), window));
        self.window = short;
    }

    /// Something is missing, or was.
    #[cold]
    fn on_ack_with_gaps(&mut self, cumulative: u64, sack: &SackBlocks, acked: u64, now_ns: u64) {
        let (una, nxt) = (self.una, self.nxt);
        let mut news = 0;
        for (start, end) in sack.above(cumulative) {
            let (start, end) = (start.max(una), end.min(nxt));
            if start < end {
                news += self.rest().scoreboard.sack(start, end);
                self.round_trip.on_arrived(start, end, &self.config, now_ns);
            }
        }
        let is_open = self.phase == Phase::Open;
        let rest = self.rest();
        rest.scoreboard.advance(una);
        if acked > 0 {
            rest.dup_acks = 0;
            if !is_open && una >= rest.recovery_end {
                rest.resend_first = false;
                self.phase = Phase::Open;
            }
        } else if news > 0 {
            // RFC 6675, 2: a duplicate is one that brings news of a range.
            rest.dup_acks = rest.dup_acks.saturating_add(1);
        }
        if self.phase == Phase::Open && self.is_lost() {
            self.enter_recovery();
        }
    }

    /// Whether the first that is not acknowledged counts as lost.
    fn is_lost(&self) -> bool {
        let rest = self.rest.as_ref();
        rest.is_some_and(|rest| {
            !rest.scoreboard.is_empty()
                && (rest.dup_acks >= DUP_THRESH || self.loss_edge(rest).offset > self.una)
        })
    }

    /// RFC 6675, 5, (4).
    fn enter_recovery(&mut self) {
        let (una, nxt) = (self.una, self.nxt);
        self.phase = Phase::FastRecovery;
        let rest = self.rest();
        // What the last recovery sent again beyond its end is not sent a third time: that would
        // be for the timer.
        rest.resend_first = rest.scoreboard.next_gap().0 <= una;
        rest.rescue = true;
        rest.recoveries += 1;
        if una >= rest.recovery_end {
            self.reduce(self.flight_bytes(una));
        } else {
            // A mark has already reduced it for this window of data (RFC 3168, 6.1.2).
            rest.recovery_end = nxt;
        }
    }

    /// Reduces the window, once for all that has been sent up to now.
    fn reduce(&mut self, flight_bytes: u64) {
        self.move_window(|rest, window| rest.rule.on_congestion(window, flight_bytes));
        self.rest().recovery_end = self.nxt;
        self.cwr_pending = self.config.ecn;
    }

    /// "FlightSize" before an acknowledgement that moved `una` from `from`, without what limited
    /// transmit let out beyond the window (RFC 5681, 3.2, 2.) and without what a timeout has long
    /// declared lost.
    fn flight_bytes(&self, from: u64) -> u64 {
        (self.nxt - from).min(self.window.cwnd_bytes())
    }

    /// RFC 3168, 6.1.2: at most once for a window of data, and not where a loss has done it.
    #[cold]
    fn on_mark_echoed(&mut self, before: u64) {
        if self.phase == Phase::Open && self.una > self.rest().recovery_end {
            self.reduce(self.flight_bytes(before));
            self.rest().ecn_reductions += 1;
        }
    }

    /// RFC 6298, 5.4 to 5.6; RFC 5681, 3.1. The ranges stay known: the model's receiver never
    /// takes back what it has acknowledged, and RFC 6675, 5.1 sends only what is missing.
    #[cold]
    fn on_timeout(&mut self, now_ns: u64) {
        let (una, nxt) = (self.una, self.nxt);
        if una == nxt {
            self.rto_at_ns = NEVER_NS;
            return;
        }
        // The threshold is held when the same segment times out again.
        if self.rest().timed_out_una != una + 1 {
            let flight_bytes = self.flight_bytes(una);
            self.move_window(|rest, window| rest.rule.on_timeout(window, flight_bytes));
            self.rest().timed_out_una = una + 1;
        }
        self.window.set_cwnd(self.mss_bytes());
        self.phase = Phase::AfterTimeout;
        self.cwr_pending = self.config.ecn;
        let rest = self.rest();
        rest.recovery_end = nxt;
        rest.scoreboard.forget_resent(una);
        rest.resend_first = true;
        rest.rescue = false;
        rest.dup_acks = 0;
        rest.timeouts += 1;
        self.round_trip.forget_timed();
        self.round_trip.back_off(&self.config);
        self.restart_rto(now_ns);
    }

    /// "NextSeg" of RFC 6675, 4: a gap that is lost; else new data; else a gap that may be; else,
    /// once, the end of what was sent.
    pub(super) fn next_in_recovery(&mut self, pipe: u64) -> Option<(u64, u64)> {
        let mss = self.mss_bytes();
        let room = self.window.cwnd_bytes().saturating_sub(pipe) >= mss;
        let rest = self.rest.as_ref()?;
        if !room && !rest.resend_first {
            self.full_to = self.nxt;
            return None;
        }
        let (gap, gap_end) = rest.scoreboard.next_gap();
        // Only what was sent before a timeout can be lost with nothing above it.
        let end = gap_end
            .unwrap_or(rest.recovery_end)
            .min(gap.saturating_add(mss))
            .min(self.nxt);
        if (gap < self.loss_edge(rest).offset || rest.resend_first) && gap < end {
            return Some((gap, end - gap));
        }
        let highest = rest.scoreboard.highest();
        if let Some(new) = self.new_data(pipe) {
            return Some(new);
        }
        if self.phase == Phase::FastRecovery {
            if Some(gap) < highest && gap < end {
                return Some((gap, end - gap));
            }
            return self.rescue();
        }
        None
    }

    /// The last segment sent and not known to have arrived. It leaves "HighRxt" where it is.
    fn rescue(&self) -> Option<(u64, u64)> {
        let rest = self.rest.as_ref()?;
        let highest = rest.scoreboard.highest();
        let from = highest.unwrap_or(self.una).max(self.una);
        let bytes = (self.nxt - from).min(self.mss_bytes());
        (rest.rescue && bytes > 0).then_some((self.nxt - bytes, bytes))
    }

    /// What [`next_in_recovery`](Self::next_in_recovery) chose was sent.
    pub(super) fn on_resent(&mut self, start: u64, end: u64) {
        let is_fast = self.phase == Phase::FastRecovery;
        let rest = self.rest();
        rest.resend_first = false;
        if is_fast && Some(start) >= rest.scoreboard.highest() {
            rest.rescue = false;
        } else {
            rest.scoreboard.on_resent(start, end);
        }
    }
}
