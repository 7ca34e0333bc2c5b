//! State of a sender that is needed only after a loss or a mark, or with small queues. It is
//! separate so that a connection without losses takes two cache lines.

use super::config::TcpConfig;
use super::rule::CongestionRule;
use super::scoreboard::Scoreboard;

/// The rarely used state of a sender. Without it, the window has never been reduced.
#[derive(Debug)]
pub(super) struct ColdState {
    pub rule: CongestionRule,
    pub scoreboard: Scoreboard,
    /// End of the recovery. A mark is processed only above it (once per window).
    pub recovery_end: u64,
    /// Offset of the last timeout, plus one.
    pub timed_out_una: u64,
    pub dup_acks: u32,
    /// The first retransmission of a recovery does not wait for room (RFC 6675, 5, 4.3).
    pub resend_first: bool,
    /// The rescue retransmission of this recovery (RFC 6675, NextSeg 4) is still available.
    pub rescue: bool,
    /// Maximum payload of a GSO packet, in bytes, regardless of the configuration.
    pub max_packet_bytes: u64,
    pub retransmissions: u64,
    pub recoveries: u32,
    pub timeouts: u32,
    pub ecn_reductions: u32,
    /// Number of overflows of the 32-bit packet counter.
    pub packet_wraps: u32,
}

impl ColdState {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            rule: CongestionRule::new(config.congestion),
            scoreboard: Scoreboard::default(),
            recovery_end: 0,
            timed_out_una: 0,
            dup_acks: 0,
            resend_first: false,
            rescue: false,
            max_packet_bytes: u64::MAX,
            retransmissions: 0,
            recoveries: 0,
            timeouts: 0,
            ecn_reductions: 0,
            packet_wraps: 0,
        }
    }
}
