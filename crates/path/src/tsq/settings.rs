//! The settings of small queues, and the limit of a flow that follows from them.

/// The limit of Linux in 2012, in bytes of memory: 56 packets of 1,514 bytes.
pub const LIMIT_2012_BYTES: u32 = 128 << 10;

/// The default of [`Sizing::Rate`]: 1 ms of data at the pacing rate, as in Linux
/// (`sk_pacing_shift`).
pub const RATE_TIME_NS: u32 = 1_000_000;

/// How the limit of a flow is computed from the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// The configured limit.
    Fixed,
    /// The bytes that the flow sends in `time_ns` (1 or more) at its pacing rate: at least two
    /// packets, and never more than the limit.
    Rate {
        /// See [`RATE_TIME_NS`].
        time_ns: u32,
    },
}

/// The settings of small queues, for all flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How the limit is computed.
    pub sizing: Sizing,
    /// `tcp_limit_output_bytes`: memory that a flow may have below its socket. It sends while it
    /// is charged no more than this, so one packet may exceed it. [`u32::MAX`] limits nothing.
    pub limit_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sizing: Sizing::Fixed,
            limit_bytes: LIMIT_2012_BYTES,
        }
    }
}

impl Settings {
    /// No flow is throttled.
    pub const OFF: Self = Self {
        sizing: Sizing::Fixed,
        limit_bytes: u32::MAX,
    };

    /// Returns the limit of a flow that is about to send `request`, in bytes.
    pub(super) fn limit_of(self, request: SendRequest) -> u32 {
        let Sizing::Rate { time_ns } = self.sizing else {
            return self.limit_bytes;
        };
        let bytes = u128::from(request.rate_bytes_per_s) * u128::from(time_ns) / 1_000_000_000;
        let two_packets = request.packet_bytes.saturating_mul(2);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).max(two_packets);
        bytes.min(self.limit_bytes)
    }
}

/// Counters over all flows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Times that a flow was throttled.
    pub throttled: u64,
    /// Times that a flow was put on the deferred list.
    pub deferred: u64,
    /// Times that a deferred flow was left to its owner, which had locked it.
    pub deferred_to_owner: u64,
}

/// The packet that the owner of a flow is about to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendRequest {
    /// Memory of the next packet, in bytes.
    pub packet_bytes: u32,
    /// The flow's pacing rate, in bytes per second. Only [`Sizing::Rate`] reads it.
    pub rate_bytes_per_s: u64,
}
