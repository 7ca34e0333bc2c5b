//! Settings of a queue, in addition to its parts.

use taut_path::QueueConfig;

/// Settings of a queue. Start from `taut_queue_options_default`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueOptions {
    /// Free slots at which a queue that stopped for a full ring starts again, at most the ring; 0
    /// for half of it.
    pub restart_slots: u32,
    /// Maximum packets for one doorbell, at least 1.
    pub burst_packets: u32,
    /// Maximum packets reaped in one batch, at least 1. Default: no maximum, because the limit
    /// needs complete batches.
    pub reap_budget_packets: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Interval at which completions are reported to the limit, in ns; 0 reports each batch. Frames
    /// are returned immediately in any case.
    pub coalesce_ns: u64,
    /// Stall threshold: maximum age of the oldest unit in flight, in ns; 0 disables stall
    /// detection.
    pub stall_threshold_ns: u64,
}

impl From<QueueOptions> for QueueConfig {
    fn from(options: QueueOptions) -> Self {
        Self {
            restart_slots: (options.restart_slots > 0).then_some(options.restart_slots),
            burst_packets: options.burst_packets,
            reap_budget_packets: options.reap_budget_packets,
            coalesce_ns: options.coalesce_ns,
            stall_threshold_ns: options.stall_threshold_ns,
            ..Self::default()
        }
    }
}

/// Returns the default settings. Any thread can call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_queue_options_default() -> QueueOptions {
    let config = QueueConfig::default();
    QueueOptions {
        restart_slots: config.restart_slots.unwrap_or(0),
        burst_packets: config.burst_packets,
        reap_budget_packets: config.reap_budget_packets,
        reserved: 0,
        coalesce_ns: config.coalesce_ns,
        stall_threshold_ns: config.stall_threshold_ns,
    }
}
