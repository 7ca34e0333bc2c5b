//! The settings of the accounting.

use taut_dql::stall::DEFAULT_THRESHOLD_NS;
use taut_path::AnyLimit;

use crate::quality::Source;

/// The settings of a [`SocketTracker`](super::tracker::SocketTracker).
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The rule.
    pub(crate) limit: AnyLimit,
    /// The source of completions.
    pub(crate) source: Source,
    /// An object older than this is a stall, in ns, at most 2^62; 0 disables stall detection.
    pub(crate) stall_threshold_ns: u64,
    /// The limit is at most the amount that the path carries at the measured rate in this time, in
    /// ns, but at least eight full datagrams; 0: no cap.
    pub(crate) cap_ns: u64,
    /// Datagrams that the path carries within this time can share a timestamp, in ns.
    pub(crate) timestamp_interval_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limit: AnyLimit::default(),
            source: Source::default(),
            stall_threshold_ns: DEFAULT_THRESHOLD_NS,
            cap_ns: 0,
            timestamp_interval_ns: 100_000,
        }
    }
}
