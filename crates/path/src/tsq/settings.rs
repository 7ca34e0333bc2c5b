//! The settings of small queues, and the limit of a flow that follows from them.

use taut_dql::sync::{AtomicU32, AtomicUsize, Ordering};

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
}

/// Counters over all flows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Times that a flow was throttled.
    pub throttled: u64,
    /// Times that a flow was put on a deferred list.
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

/// The last request of the owner to send. A release computes the limit from it.
#[derive(Debug)]
pub(super) struct LastRequest {
    packet_bytes: AtomicU32,
    /// A rate that is out of range is stored as the maximum.
    rate_bytes_per_s: AtomicUsize,
}

impl LastRequest {
    pub(crate) fn new() -> Self {
        Self {
            packet_bytes: AtomicU32::new(0),
            rate_bytes_per_s: AtomicUsize::new(0),
        }
    }

    pub(crate) fn set(&self, request: SendRequest) {
        self.packet_bytes
            .store(request.packet_bytes, Ordering::Relaxed);
        let rate = usize::try_from(request.rate_bytes_per_s).unwrap_or(usize::MAX);
        self.rate_bytes_per_s.store(rate, Ordering::Relaxed);
    }

    /// Returns the limit of the flow.
    pub(crate) fn limit_bytes(&self, settings: Settings) -> u64 {
        let max_bytes = u64::from(settings.limit_bytes);
        let Sizing::Rate { time_ns } = settings.sizing else {
            return max_bytes;
        };
        let packet_bytes = u64::from(self.packet_bytes.load(Ordering::Relaxed));
        let rate = self.rate_bytes_per_s.load(Ordering::Relaxed);
        let bytes = rate as u128 * u128::from(time_ns) / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        bytes.max(2 * packet_bytes).min(max_bytes)
    }
}
