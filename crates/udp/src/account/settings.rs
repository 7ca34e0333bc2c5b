//! The settings of a tracker.

use taut_dql::stall::DEFAULT_THRESHOLD_NS;
use taut_path::AnyLimit;

use crate::quality::CompletionQuality;

/// The source of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// Transmit timestamps: the time at which each datagram leaves the discipline, but only within
    /// the socket's own network namespace. At high rates up to 16 datagrams share a timestamp,
    /// unless an observer is set.
    #[default]
    Timestamps,
    /// Zero-copy notifications: the only source that sees a queue beyond a container's own link.
    /// Each datagram is copied once into pages that the kernel reads.
    ZeroCopy,
    /// The level of the socket (`SIOCOUTQ`), polled at an interval.
    Polled,
}

impl Source {
    /// Returns the quality of its completions if they are valid.
    pub(crate) fn if_valid(self) -> CompletionQuality {
        match self {
            Self::Timestamps => CompletionQuality::Transmitted,
            Self::ZeroCopy => CompletionQuality::BufferFreed,
            Self::Polled => CompletionQuality::Polled,
        }
    }
}

/// The settings of a [`SocketTracker`](super::SocketTracker).
#[derive(Debug, Clone)]
pub struct Settings {
    /// The rule.
    pub limit: AnyLimit,
    /// The source of completions.
    pub source: Source,
    /// The id that the kernel assigns to the first object.
    pub first_id: u32,
    /// An object older than this is a stall, in ns, at most 2^62; 0 disables stall detection.
    pub stall_threshold_ns: u64,
    /// Poll interval of [`Source::Polled`], in ns.
    pub poll_ns: u64,
    /// The limit is at most the amount that the path carries at the measured rate in this time, in
    /// ns, but at least eight full datagrams; 0: no cap.
    pub cap_ns: u64,
    /// Datagrams that the path carries within this time can share a timestamp, in ns.
    pub timestamp_interval_ns: u64,
}

impl Settings {
    /// The default poll interval of the level: 1 ms.
    pub const DEFAULT_POLL_NS: u64 = 1_000_000;
    /// The default interval of timestamps: 0.1 ms.
    pub const DEFAULT_TIMESTAMP_INTERVAL_NS: u64 = 100_000;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limit: AnyLimit::default(),
            source: Source::default(),
            first_id: 0,
            stall_threshold_ns: DEFAULT_THRESHOLD_NS,
            poll_ns: Self::DEFAULT_POLL_NS,
            cap_ns: 0,
            timestamp_interval_ns: Self::DEFAULT_TIMESTAMP_INTERVAL_NS,
        }
    }
}
