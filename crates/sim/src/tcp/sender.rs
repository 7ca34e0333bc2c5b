//! The sending end: what to send next, and what was sent. What acknowledgements and timers do to it
//! is in `acknowledge.rs`.

use super::config::{TcpConfig, TcpSettings};
use super::congestion::Controller;
use super::pace;
use super::round_trip::RoundTrip;
use super::scoreboard::{LossEdge, Scoreboard};
use super::segment::Segment;

pub(super) const NEVER_NS: u64 = u64::MAX;

/// How often things happened since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// Packets handed to the transmit path, super-packets as one.
    pub packets_sent: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Fast recoveries entered.
    pub recoveries: u32,
    /// Runs of the retransmission timer.
    pub timeouts: u32,
    /// Reductions of the window because of a mark.
    pub ecn_reductions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// RFC 6675, until everything sent before it is acknowledged.
    FastRecovery,
    /// The same after a timeout: all that was sent before it counts as lost.
    AfterTimeout,
}

/// The sending half of one end of a connection.
#[derive(Debug)]
pub struct TcpSender {
    /// The stream: acknowledged before `una`, sent before `nxt`, written before `written`.
    pub(super) una: u64,
    pub(super) nxt: u64,
    written: u64,
    /// The receiver takes nothing from here on; never moves back (RFC 9293, 3.8.6).
    pub(super) window_end: u64,
    /// Acknowledgements of data before this offset find that the window was full.
    pub(super) full_to: u64,
    pub(super) rto_at_ns: u64,
    pub(super) controller: Controller,
    pub(super) round_trip: RoundTrip,
    pub(super) scoreboard: Scoreboard,
    /// When a recovery ends; also: a mark is heeded only above it (once for each window).
    pub(super) recovery_end: u64,
    /// What the timer last ran out for, plus one.
    pub(super) timed_out_una: u64,
    /// The pace allows nothing before.
    pub(super) release_ns: u64,
    last_sent_ns: u64,
    pub(super) dup_acks: u32,
    pub(super) phase: Phase,
    /// The first retransmission of a recovery does not wait for room (RFC 6675, 5, 4.3).
    pub(super) resend_first: bool,
    /// The one rescue of this recovery (RFC 6675, NextSeg 4) is still to be had.
    pub(super) rescue: bool,
    pub(super) cwr_pending: bool,
    waits_for_pace: bool,
    /// Super-packets carry no more, whatever the configuration says.
    most_packet_bytes: u64,
    pub(super) stats: TcpStats,
    pub(super) config: TcpSettings,
}

impl TcpSender {
    /// An established connection on which nothing has been sent.
    pub fn new(config: &TcpConfig) -> Self {
        Self::with(TcpSettings::new(config))
    }

    /// The same with settings that are shared.
    pub fn with(config: TcpSettings) -> Self {
        Self {
            una: 0,
            nxt: 0,
            written: 0,
            window_end: u64::from(config.receive_buffer_bytes),
            full_to: 0,
            rto_at_ns: NEVER_NS,
            controller: Controller::new(&config),
            round_trip: RoundTrip::new(&config),
            scoreboard: Scoreboard::default(),
            recovery_end: 0,
            timed_out_una: 0,
            release_ns: 0,
            last_sent_ns: 0,
            dup_acks: 0,
            phase: Phase::Open,
            resend_first: false,
            rescue: false,
            cwr_pending: false,
            waits_for_pace: false,
            most_packet_bytes: u64::MAX,
            stats: TcpStats::default(),
            config,
        }
    }

    /// The application appends so many bytes to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// What to send now. Call it until it says `None`, after each call that may have changed
    /// something: `write`, `on_ack`, `on_timer`.
    pub fn next_segment(&mut self, now_ns: u64) -> Option<Segment> {
        let (start, bytes) = self.choose(now_ns)?;
        Some(self.sent(start, bytes, now_ns))
    }

    /// The payload of what [`next_segment`](Self::next_segment) would send now, in bytes.
    pub fn next_payload_bytes(&mut self, now_ns: u64) -> Option<u64> {
        self.choose(now_ns).map(|(_, bytes)| bytes)
    }

    /// Super-packets carry no more than `bytes` from now on, and always a segment.
    pub fn limit_super_packets(&mut self, bytes: u64) {
        self.most_packet_bytes = bytes;
    }

    /// Offset and length of what to send now.
    fn choose(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        self.waits_for_pace = false;
        if self.una == self.nxt && self.nxt != self.written {
            self.start_after_silence(now_ns);
        }
        let pipe = self.in_flight_bytes();
        let chosen = match self.phase {
            Phase::Open => self.new_data(pipe),
            Phase::FastRecovery | Phase::AfterTimeout => self.next_in_recovery(pipe),
        }?;
        if now_ns < self.release_ns && self.config.pacing.is_some() {
            self.waits_for_pace = true;
            return None;
        }
        Some(chosen)
    }

    /// When to call [`on_timer`](Self::on_timer), in ns: the retransmission timer or the pace,
    /// whichever comes first. May move, also to later, at any call.
    pub fn next_timer_ns(&self) -> Option<u64> {
        let release = if self.waits_for_pace {
            self.release_ns
        } else {
            NEVER_NS
        };
        let next = self.rto_at_ns.min(release);
        (next != NEVER_NS).then_some(next)
    }

    /// How much unsent data may go now, and from where; nothing changes but the knowledge that the
    /// window is full.
    pub(super) fn new_data(&mut self, pipe: u64) -> Option<(u64, u64)> {
        let window = &self.controller.window;
        let mss = window.mss_bytes;
        let unsent = self.written - self.nxt;
        if unsent == 0 {
            return None;
        }
        let room_in_cwnd = window.cwnd_bytes.saturating_sub(pipe);
        let room_at_peer = self.window_end.saturating_sub(self.nxt);
        let room = room_in_cwnd.min(room_at_peer);
        let srtt_ns = self.round_trip.smoothed_ns();
        let full = pace::packet_bytes(&self.config, window, srtt_ns, self.most_packet_bytes);
        let wanted = unsent.min(full);
        let mut bytes = wanted;
        if room < wanted {
            let offered = self.window_end - self.una;
            let least = pace::least_bytes(full, window.cwnd_bytes.min(offered), mss).min(wanted);
            bytes = room / mss * mss;
            if bytes < least {
                bytes = 0;
                if room_in_cwnd <= room_at_peer {
                    self.full_to = self.nxt;
                } else if pipe == 0 {
                    // RFC 1122, 4.2.3.4: a part of a segment rather than silence for ever.
                    bytes = room;
                }
            }
        }
        if self.config.nagle && self.una != self.nxt {
            bytes -= bytes % mss;
        }
        (bytes > 0).then_some((self.nxt, bytes))
    }

    /// RFC 5681, 4.1: the window says nothing about a path that was not used for a timeout.
    fn start_after_silence(&mut self, now_ns: u64) {
        let silence_ns = now_ns.saturating_sub(self.last_sent_ns);
        if self.config.restart_after_idle
            && self.nxt != 0
            && silence_ns > self.round_trip.timeout_ns(&self.config)
        {
            let window = &mut self.controller.window;
            let initial = u64::from(self.config.initial_window_segments) * window.mss_bytes;
            window.cwnd_bytes = window.cwnd_bytes.min(initial);
        }
        self.controller.on_unused(now_ns);
    }

    fn sent(&mut self, start: u64, bytes: u64, now_ns: u64) -> Segment {
        let end = start + bytes;
        let retransmission = start < self.nxt;
        if retransmission {
            self.round_trip.on_retransmission(start, end);
            self.on_resent(start, end);
            self.stats.retransmissions += 1;
        } else {
            self.round_trip.on_new_segment(end, now_ns);
            self.nxt = end;
        }
        self.stats.packets_sent += 1;
        self.last_sent_ns = now_ns;
        if self.rto_at_ns == NEVER_NS {
            self.restart_rto(now_ns);
        }
        if let Some(pacing) = self.config.pacing {
            let srtt_ns = self.round_trip.smoothed_ns();
            let time_ns = pace::time_ns(&self.controller.window, pacing, srtt_ns, bytes);
            self.release_ns = self.release_ns.max(now_ns).saturating_add(time_ns);
        }
        Segment {
            start,
            // At most a full packet, which is configured in a `u32`.
            payload_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            retransmission,
            ecn_capable: self.config.ecn && !retransmission,
            // RFC 3168, 6.1.2: on the first new data after the reduction.
            cwr: !retransmission && std::mem::take(&mut self.cwr_pending),
        }
    }

    pub(super) fn restart_rto(&mut self, now_ns: u64) {
        self.rto_at_ns = now_ns.saturating_add(self.round_trip.timeout_ns(&self.config));
    }

    pub(super) fn loss_edge(&self) -> LossEdge {
        match self.phase {
            Phase::Open | Phase::FastRecovery => self
                .scoreboard
                .loss_edge(self.una, self.controller.window.mss_bytes),
            Phase::AfterTimeout => self.scoreboard.edge_at(self.recovery_end),
        }
    }

    /// Written and not yet sent, in bytes.
    pub fn unsent_bytes(&self) -> u64 {
        self.written - self.nxt
    }

    /// Sent once and believed to be on its way or at the receiver but not acknowledged, in bytes: the
    /// "pipe" of RFC 6675, which is what the window is compared with.
    pub fn in_flight_bytes(&self) -> u64 {
        if self.phase == Phase::Open && self.scoreboard.is_empty() {
            return self.nxt - self.una;
        }
        self.scoreboard
            .pipe_bytes(self.una, self.nxt, self.loss_edge())
    }

    /// Written and not yet acknowledged, in bytes: what a send buffer holds.
    pub fn unacked_bytes(&self) -> u64 {
        self.written - self.una
    }

    /// Acknowledged since the connection began, in bytes.
    pub fn acked_bytes(&self) -> u64 {
        self.una
    }

    /// The congestion window, in bytes.
    pub fn cwnd_bytes(&self) -> u64 {
        self.controller.window.cwnd_bytes
    }

    /// The slow-start threshold, in bytes; `u64::MAX` before the first reduction.
    pub fn ssthresh_bytes(&self) -> u64 {
        self.controller.window.ssthresh_bytes
    }

    /// The smoothed round trip, in ns; `None` before the first sample.
    pub fn srtt_ns(&self) -> Option<u64> {
        Some(self.round_trip.smoothed_ns()).filter(|&ns| ns > 0)
    }

    /// The retransmission timeout now, with its doublings, in ns.
    pub fn rto_ns(&self) -> u64 {
        self.round_trip.timeout_ns(&self.config)
    }

    /// The pacing rate in bytes per second, whether or not the sender is paced (small queues size
    /// their budget by it); `None` before the first sample of the round trip.
    pub fn pacing_rate_bytes_per_s(&self) -> Option<u64> {
        let window = &self.controller.window;
        let rate = pace::bytes_in(window, self.config.pacing, self.srtt_ns()?, 1_000_000_000);
        Some(rate)
    }

    /// The sender is mending a loss.
    pub fn in_recovery(&self) -> bool {
        self.phase != Phase::Open
    }

    /// What happened so far.
    pub fn stats(&self) -> TcpStats {
        self.stats
    }
}
