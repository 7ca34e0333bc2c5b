//! The sending half of a connection. The processing of acknowledgements and timers is in
//! `acknowledge.rs`.

use std::sync::Arc;

use super::config::TcpConfig;
use super::congestion::Window;
use super::cubic::Cubic;
use super::round_trip::RoundTrip;
use super::scoreboard::Scoreboard;
use super::segment::Segment;
use crate::NEVER_NS;

/// Event counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// Retransmitted packets; a GSO packet counts once.
    pub retransmissions: u64,
    /// Fast recoveries entered.
    pub recoveries: u32,
    /// Runs of the retransmission timer.
    pub timeouts: u32,
    /// Reductions of the window because of a mark.
    pub ecn_reductions: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// RFC 6675, until everything sent before the loss was found is acknowledged.
    FastRecovery,
    /// Recovery after a timeout: all data sent before it counts as lost.
    AfterTimeout,
}

/// The sending half of one end of a connection.
#[derive(Debug)]
pub struct TcpSender {
    /// The stream: acknowledged before `una`, sent before `nxt`, written before `written`.
    pub(super) una: u64,
    pub(super) nxt: u64,
    written: u64,
    /// End of the offered window; never moves back (RFC 9293, 3.8.6).
    pub(super) window_end: u64,
    /// The window was full for acknowledgements of data before this offset.
    pub(super) full_to: u64,
    pub(super) rto_at_ns: u64,
    pub(super) window: Window,
    pub(super) round_trip: RoundTrip,
    last_sent_ns: u64,
    pub(super) config: Arc<TcpConfig>,
    pub(super) rule: Cubic,
    pub(super) recovery: Recovery,
    /// Maximum payload of a GSO packet, in bytes, regardless of the configuration.
    max_packet_bytes: u64,
    pub(super) stats: TcpStats,
}

/// State of the loss recovery.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub phase: Phase,
    /// The next new segment carries CWR (RFC 3168).
    pub cwr_pending: bool,
    pub scoreboard: Scoreboard,
    /// End of the recovery. A mark is processed only above it (once per window).
    pub end: u64,
    /// Offset of the last timeout, plus one.
    pub timed_out_una: u64,
    pub dup_acks: u32,
    /// The first retransmission of a recovery does not wait for room (RFC 6675, 5, 4.3).
    pub resend_first: bool,
    /// The rescue retransmission of this recovery (RFC 6675, NextSeg 4) is still available.
    pub rescue: bool,
}

impl TcpSender {
    /// Creates an established connection on which nothing has been sent.
    pub fn new(config: &TcpConfig) -> Self {
        Self::with(Arc::new(config.in_range()))
    }

    /// Creates one with shared settings, whose values are in range.
    pub(crate) fn with(config: Arc<TcpConfig>) -> Self {
        Self {
            una: 0,
            nxt: 0,
            written: 0,
            window_end: u64::from(config.receive_buffer_bytes),
            full_to: 0,
            rto_at_ns: NEVER_NS,
            window: Window::new(&config),
            round_trip: RoundTrip::new(&config),
            last_sent_ns: 0,
            rule: Cubic::default(),
            recovery: Recovery::default(),
            max_packet_bytes: u64::MAX,
            stats: TcpStats::default(),
            config,
        }
    }

    #[inline]
    pub(super) fn mss_bytes(&self) -> u64 {
        self.window.mss_bytes
    }

    /// Appends `bytes` of the application to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Returns the segment to send now. Call it until it returns `None`, after each call of
    /// `write`, `on_ack` or `on_timer`.
    #[inline]
    pub fn next_segment(&mut self, now_ns: u64) -> Option<Segment> {
        let (start, bytes) = self.choose(now_ns)?;
        Some(self.sent(start, bytes, now_ns))
    }

    /// Returns the payload of the segment that [`next_segment`](Self::next_segment) would return,
    /// in bytes.
    pub fn next_payload_bytes(&mut self, now_ns: u64) -> Option<u64> {
        self.choose(now_ns).map(|(_, bytes)| bytes)
    }

    /// Limits GSO packets to `bytes` of payload from now on, but to at least a segment.
    pub fn limit_gso_packets(&mut self, bytes: u64) {
        self.max_packet_bytes = bytes;
    }

    /// Returns offset and length of the segment to send now.
    #[inline(always)]
    fn choose(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        let is_open = self.recovery.phase == Phase::Open;
        // Usually there is nothing to send: checked first.
        if is_open && self.nxt == self.written {
            return None;
        }
        if self.una == self.nxt && self.nxt != self.written {
            self.start_after_silence(now_ns);
        }
        let pipe = self.in_flight_bytes();
        if is_open {
            self.new_data(pipe)
        } else {
            self.next_in_recovery(pipe)
        }
    }

    /// Returns the time for the next call of [`on_timer`](Self::on_timer), in ns: the
    /// retransmission timer. Can change at any call, also to a later time.
    #[inline]
    pub fn next_timer_ns(&self) -> Option<u64> {
        (self.rto_at_ns != NEVER_NS).then_some(self.rto_at_ns)
    }

    /// Returns the offset and length of new data that can be sent now. Updates only whether the
    /// window is full.
    #[inline(always)]
    pub(super) fn new_data(&mut self, pipe: u64) -> Option<(u64, u64)> {
        let unsent = self.written - self.nxt;
        if unsent == 0 {
            return None;
        }
        let mss = self.mss_bytes();
        let room_in_cwnd = self.window.cwnd_bytes.saturating_sub(pipe);
        let room_at_peer = self.window_end.saturating_sub(self.nxt);
        let room = room_in_cwnd.min(room_at_peer);
        let full = self.full_packet_bytes();
        let requested = unsent.min(full);
        let mut bytes = requested;
        if room < requested {
            // A packet of one segment is not shortened.
            bytes = if full > mss {
                self.cut(room, requested, full)
            } else {
                0
            };
            if bytes == 0 {
                if room_in_cwnd <= room_at_peer {
                    self.full_to = self.nxt;
                } else if pipe == 0 {
                    // RFC 1122, 4.2.3.4: send a part of a segment rather than stall forever.
                    bytes = room;
                }
            }
        }
        (bytes > 0).then_some((self.nxt, bytes))
    }

    /// Returns the payload of a full packet, in bytes.
    #[inline]
    fn full_packet_bytes(&self) -> u64 {
        let srtt_ns = self.round_trip.smoothed_ns;
        let gso_size = self.config.gso_size;
        self.window
            .packet_bytes(gso_size, srtt_ns, self.max_packet_bytes)
    }

    /// Returns the part of a GSO packet that fits in `room`; 0 if that is too small.
    fn cut(&self, room: u64, requested: u64, full: u64) -> u64 {
        let mss = self.mss_bytes();
        let offered = self.window_end - self.una;
        let smallest = self.window.min_packet_bytes(full, offered).min(requested);
        let bytes = room / mss * mss;
        if bytes < smallest { 0 } else { bytes }
    }

    /// RFC 5681, 4.1: after an idle time of one timeout, the window is out of date.
    fn start_after_silence(&mut self, now_ns: u64) {
        let silence_ns = now_ns.saturating_sub(self.last_sent_ns);
        if self.config.restart_after_idle
            && self.nxt != 0
            && silence_ns > self.round_trip.timeout_ns
        {
            let initial = u64::from(self.config.initial_window_segments) * self.mss_bytes();
            self.window.cwnd_bytes = self.window.cwnd_bytes.min(initial);
        }
        self.rule.on_unused(now_ns);
    }

    #[inline(always)]
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
        self.last_sent_ns = now_ns;
        if self.rto_at_ns == NEVER_NS {
            self.restart_rto(now_ns);
        }
        Segment {
            start,
            // At most a full packet, which is configured in a `u32`.
            payload_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            retransmission,
            ecn_capable: self.config.ecn && !retransmission,
            // RFC 3168, 6.1.2: on the first new data after the reduction.
            cwr: !retransmission && std::mem::take(&mut self.recovery.cwr_pending),
        }
    }

    pub(super) fn restart_rto(&mut self, now_ns: u64) {
        self.rto_at_ns = now_ns.saturating_add(self.round_trip.timeout_ns);
    }

    /// Returns the stream offset of the next new data.
    pub(crate) fn next_offset(&self) -> u64 {
        self.nxt
    }

    /// Returns the bytes written and not yet sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.written - self.nxt
    }

    /// Returns the bytes sent and neither acknowledged nor believed to be lost: the "pipe" of RFC
    /// 6675, which is compared with the window.
    pub fn in_flight_bytes(&self) -> u64 {
        if !self.has_gaps() {
            return self.nxt - self.una;
        }
        self.pipe_bytes()
    }

    // Cold, so that the path of a connection without gaps stays short.
    #[cold]
    fn pipe_bytes(&self) -> u64 {
        let scoreboard = &self.recovery.scoreboard;
        scoreboard.pipe_bytes(self.una, self.nxt, self.lost_to())
    }

    /// Returns the offset below which everything that is not selectively acknowledged is lost.
    pub(super) fn lost_to(&self) -> u64 {
        let recovery = &self.recovery;
        match recovery.phase {
            Phase::Open | Phase::FastRecovery => {
                recovery.scoreboard.lost_to(self.una, self.mss_bytes())
            }
            Phase::AfterTimeout => recovery.end,
        }
    }

    /// Returns the bytes written and not yet acknowledged: the content of a send buffer.
    pub fn unacked_bytes(&self) -> u64 {
        self.written - self.una
    }

    /// Returns the bytes acknowledged since the connection began.
    pub fn acked_bytes(&self) -> u64 {
        self.una
    }

    /// Returns the congestion window, in bytes.
    pub fn cwnd_bytes(&self) -> u64 {
        self.window.cwnd_bytes
    }

    /// Returns the slow-start threshold, in bytes; `u64::MAX` before the first reduction.
    pub fn ssthresh_bytes(&self) -> u64 {
        self.window.ssthresh_bytes
    }

    /// Returns the smoothed round trip, in ns; `None` before the first sample.
    pub fn srtt_ns(&self) -> Option<u64> {
        Some(self.round_trip.smoothed_ns).filter(|&ns| ns > 0)
    }

    /// Returns the current retransmission timeout with its back-off, in ns.
    pub fn rto_ns(&self) -> u64 {
        self.round_trip.timeout_ns
    }

    /// Returns the pacing rate in bytes per second, from which small queues derive their budget;
    /// `None` before the first RTT sample.
    pub fn pacing_rate_bytes_per_s(&self) -> Option<u64> {
        Some(self.window.bytes_in(self.srtt_ns()?, 1_000_000_000))
    }

    /// Returns `true` during a loss recovery.
    pub fn in_recovery(&self) -> bool {
        self.recovery.phase != Phase::Open
    }

    /// Returns the event counters.
    pub fn stats(&self) -> TcpStats {
        self.stats
    }
}
