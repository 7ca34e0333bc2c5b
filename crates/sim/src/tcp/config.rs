//! Settings of a connection.

/// Size of the packets that the sender passes to the transmit path. GSO packets are segmented on
/// the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsoSize {
    /// One segment each.
    Off,
    /// Up to this many bytes of payload, rounded down to whole segments (at least one).
    Fixed(u32),
    /// The bytes that the pacing rate sends in about 1 ms; at least 2 segments, at most 64 KiB.
    Auto,
}

/// The settings of one end of a connection. The defaults are those of the benchmark S1.
///
/// Values out of range are clamped: a segment of 0 bytes becomes one of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Payload of a full segment, in bytes.
    pub mss_bytes: u32,
    /// The congestion window before the first acknowledgement, in full segments (RFC 6928: 10).
    pub initial_window_segments: u32,
    /// Minimum retransmission timeout, in ns.
    pub min_rto_ns: u64,
    /// Maximum retransmission timeout with back-off, in ns.
    pub max_rto_ns: u64,
    /// Explicit congestion notification, RFC 3168.
    pub ecn: bool,
    /// Size of GSO packets.
    pub gso_size: GsoSize,
    /// Restarts from the initial window after an idle time of one timeout (RFC 5681, 4.1).
    pub restart_after_idle: bool,
    /// Receive buffer and offered window, in bytes. The sender also assumes this window before the
    /// first acknowledgement.
    pub receive_buffer_bytes: u32,
    /// Segments per acknowledgement (RFC 5681: at most two).
    pub delayed_ack_segments: u32,
    /// Maximum delay of an acknowledgement, in ns (RFC 5681: at most 500 ms).
    pub delayed_ack_ns: u64,
    /// The receiver gets the segments of a GSO packet as one, and acknowledges them with one.
    pub receive_aggregation: bool,
    /// Maximum segments that an acknowledgement counts for when the window grows. `None`: two in
    /// slow start (RFC 3465), all afterwards.
    pub growth_segments: Option<u32>,
    /// Acknowledges marked segments at once.
    pub marks_at_once: bool,
    /// Until the data sent before the reaction to a mark is acknowledged, each acknowledgement
    /// reduces the window to the data in flight plus one segment, as kernels before 3.7 did.
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
            ecn: false,
            gso_size: GsoSize::Off,
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
    /// Returns the settings with every value in the range that the arithmetic requires.
    pub(crate) fn in_range(&self) -> Self {
        let min_rto_ns = self.min_rto_ns.clamp(1, MAX_NS);
        let max_rto_ns = self.max_rto_ns.clamp(min_rto_ns, MAX_NS);
        Self {
            // An IP packet has at most 65,535 bytes.
            mss_bytes: self.mss_bytes.clamp(1, 65_535),
            initial_window_segments: self.initial_window_segments.clamp(1, 1 << 16),
            min_rto_ns,
            max_rto_ns,
            receive_buffer_bytes: self.receive_buffer_bytes.max(1),
            delayed_ack_segments: self.delayed_ack_segments.max(1),
            delayed_ack_ns: self.delayed_ack_ns.min(MAX_NS),
            growth_segments: self.growth_segments.map(|segments| segments.max(1)),
            ..*self
        }
    }
}

/// An hour: no timer of TCP is longer, and sums of a few of them cannot overflow.
const MAX_NS: u64 = 3_600_000_000_000;
