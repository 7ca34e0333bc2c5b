//! What a connection is told before it starts.

use std::ops::Deref;
use std::sync::Arc;

/// Which rule moves the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 9438.
    Cubic,
    /// RFC 5681.
    Reno,
}

/// How large the packets are that the sender hands to the transmit path; the wire cuts them into
/// segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperPacket {
    /// One segment each.
    Off,
    /// Up to this many bytes of payload, rounded down to whole segments (at least one).
    Fixed(u32),
    /// What the pacing rate sends in about 1 ms, at least 2 segments, at most 64 KiB.
    Auto,
}

/// The settings of one end of a connection. The default is that of the speed benchmark S1.
///
/// A value that makes no sense is read as the nearest that does (a segment of 0 bytes as one of 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Payload of a full segment, in bytes.
    pub mss_bytes: u32,
    /// The congestion window before the first acknowledgement, in full segments (RFC 6928: 10).
    pub initial_window_segments: u32,
    /// The retransmission timeout is never shorter, in ns.
    pub min_rto_ns: u64,
    /// Nor longer, with all its doublings, in ns.
    pub max_rto_ns: u64,
    /// The timeout before the first sample of the round trip, in ns (RFC 6298: 1 s).
    pub initial_rto_ns: u64,
    /// Which rule moves the congestion window.
    pub congestion: Congestion,
    /// Explicit congestion notification, RFC 3168.
    pub ecn: bool,
    /// Packets larger than a segment.
    pub super_packet: SuperPacket,
    /// After silence of one timeout start again from the initial window (RFC 5681, 4.1).
    pub restart_after_idle: bool,
    /// What the receiver takes beyond the last byte in order; the window it offers, in bytes. Also
    /// what the sender believes of its peer before the first acknowledgement.
    pub receive_buffer_bytes: u32,
    /// Acknowledge every so many segments (RFC 5681: at least every second).
    pub delayed_ack_segments: u32,
    /// Or when the first of them is this old, in ns (RFC 5681: at most 500 ms).
    pub delayed_ack_ns: u64,
    /// The receiver gets the segments of a super-packet as one, and acknowledges them with one.
    pub receive_aggregation: bool,
    /// For how many segments at most an acknowledgement counts when the window grows; `None`: for
    /// two in slow start (RFC 3465), for all afterwards.
    pub growth_segments: Option<u32>,
    /// Acknowledge at once what came with a mark.
    pub marks_at_once: bool,
    /// Until what was sent before the answer to a mark is acknowledged, each acknowledgement cuts
    /// the window to what is in flight and one segment, as kernels before 3.7 did.
    pub mark_collapses: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            mss_bytes: 1448,
            initial_window_segments: 10,
            min_rto_ns: 200_000_000,
            // RFC 6298, 2.5: a maximum must be at least 60 s.
            max_rto_ns: 60_000_000_000,
            initial_rto_ns: 1_000_000_000,
            congestion: Congestion::Cubic,
            ecn: false,
            super_packet: SuperPacket::Off,
            restart_after_idle: true,
            receive_buffer_bytes: 131_072,
            delayed_ack_segments: 2,
            delayed_ack_ns: 40_000_000,
            receive_aggregation: false,
            growth_segments: None,
            marks_at_once: false,
            mark_collapses: false,
        }
    }
}

impl TcpConfig {
    /// The same with every value inside the range that the arithmetic of the model relies on.
    fn in_range(&self) -> Self {
        let min_rto_ns = self.min_rto_ns.clamp(1, LONGEST_NS);
        let max_rto_ns = self.max_rto_ns.clamp(min_rto_ns, LONGEST_NS);
        Self {
            // An IP packet has at most 65,535 bytes.
            mss_bytes: self.mss_bytes.clamp(1, 65_535),
            initial_window_segments: self.initial_window_segments.clamp(1, 1 << 16),
            min_rto_ns,
            max_rto_ns,
            initial_rto_ns: self.initial_rto_ns.clamp(1, max_rto_ns),
            receive_buffer_bytes: self.receive_buffer_bytes.max(1),
            delayed_ack_segments: self.delayed_ack_segments.max(1),
            delayed_ack_ns: self.delayed_ack_ns.min(LONGEST_NS),
            growth_segments: self.growth_segments.map(|segments| segments.max(1)),
            ..*self
        }
    }
}

/// Settings with every value in range, shared by all the connections that have the same: with many
/// connections what they do not share decides how fast they are simulated.
#[derive(Clone, Debug)]
pub struct TcpSettings(Arc<TcpConfig>);

impl TcpSettings {
    /// The settings that `config` asks for.
    pub fn new(config: &TcpConfig) -> Self {
        Self(Arc::new(config.in_range()))
    }

    /// The `last` settings if `config` asks for just these, else new ones, which are the last then:
    /// one copy for all that are equal.
    pub fn as_last(last: &mut Option<Self>, config: &TcpConfig) -> Self {
        let same = last.take().filter(|it| *it.0 == config.in_range());
        let settings = same.unwrap_or_else(|| Self::new(config));
        *last = Some(settings.clone());
        settings
    }
}

impl Deref for TcpSettings {
    type Target = TcpConfig;

    fn deref(&self) -> &TcpConfig {
        &self.0
    }
}

/// An hour: no timer of TCP is longer, and sums of a few of them stay far from the end of a `u64`.
const LONGEST_NS: u64 = 3_600_000_000_000;
