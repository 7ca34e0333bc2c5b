//! What a sender needs only once something was lost or marked, or if it is held back: separate, so
//! that a connection on which all is well takes two lines of the cache.

use super::config::TcpConfig;
use super::rule::CongestionRule;
use super::scoreboard::Scoreboard;

/// The rest of a sender's state. Without it the window has never been reduced.
#[derive(Debug)]
pub(super) struct Rest {
    pub rule: CongestionRule,
    pub scoreboard: Scoreboard,
    /// When a recovery ends; also: a mark is heeded only above it (once for each window).
    pub recovery_end: u64,
    /// What the timer last ran out for, plus one.
    pub timed_out_una: u64,
    pub dup_acks: u32,
    /// The first retransmission of a recovery does not wait for room (RFC 6675, 5, 4.3).
    pub resend_first: bool,
    /// The one rescue of this recovery (RFC 6675, NextSeg 4) is still to be had.
    pub rescue: bool,
    /// Super-packets carry no more, whatever the configuration says.
    pub most_packet_bytes: u64,
    pub retransmissions: u64,
    pub recoveries: u32,
    pub timeouts: u32,
    pub ecn_reductions: u32,
    /// How often the short count of packets began anew.
    pub packet_wraps: u32,
}

impl Rest {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            rule: CongestionRule::new(config.congestion),
            scoreboard: Scoreboard::default(),
            recovery_end: 0,
            timed_out_una: 0,
            dup_acks: 0,
            resend_first: false,
            rescue: false,
            most_packet_bytes: u64::MAX,
            retransmissions: 0,
            recoveries: 0,
            timeouts: 0,
            ecn_reductions: 0,
            packet_wraps: 0,
        }
    }
}
