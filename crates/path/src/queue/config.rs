//! The settings of a queue.

use core::task::Waker;

use taut_dql::stall::DEFAULT_THRESHOLD_NS;

use super::error::QueueConfigError;
use crate::late_segmentation::LateSegmentation;

/// The settings of a queue, in addition to its parts.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// A queue stopped by a full ring restarts when this many slots are free: 1 to the size of the
    /// ring. Recommended: 1/2 to 3/4 of the ring, so that it is refilled before it drains. Default
    /// `None`: half of the ring.
    pub restart_slots: Option<u32>,
    /// Maximum number of packets per burst, at least 1. A doorbell follows each burst, except
    /// between chunks. Default 64, as in the kernel's bulk dequeue.
    pub burst_packets: u32,
    /// Maximum number of packets per reap, at least 1. Default: the whole ring, because a limit
    /// needs complete batches.
    pub reap_budget_packets: u32,
    /// Coalescing interval of completions, in ns; 0, the default, passes each batch to the limit
    /// immediately. Packets and slots are returned immediately in any case.
    pub coalesce_ns: u64,
    /// Age of the oldest unit in flight that counts as a stall, in ns; 0 turns detection off.
    /// Default [`taut_dql::stall::DEFAULT_THRESHOLD_NS`].
    pub stall_threshold_ns: u64,
    /// How GSO packets are sent to a driver that takes chunks. Default [`LateSegmentation::Auto`].
    /// At most 511 packets are segmented at the same time; further ones are sent whole. With
    /// chunks, about 50 KB more are allocated.
    ///
    /// A driver for single segments receives single segments with any setting except
    /// [`Off`](LateSegmentation::Off). With `Off` it receives whole GSO packets and must refuse
    /// them: they are dropped as [`DeviceRefused`](crate::DropReason::DeviceRefused).
    pub late_segmentation: LateSegmentation,
    /// Wakes a sender that waits for room; see [`Queue::must_wait`](crate::Queue::must_wait).
    pub waker: Waker,
    /// Wakes the completing thread when another thread requests a reset or a setting.
    pub completer_waker: Waker,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            restart_slots: None,
            burst_packets: 64,
            reap_budget_packets: u32::MAX,
            coalesce_ns: 0,
            stall_threshold_ns: DEFAULT_THRESHOLD_NS,
            late_segmentation: LateSegmentation::Auto,
            waker: Waker::noop().clone(),
            completer_waker: Waker::noop().clone(),
        }
    }
}

impl QueueConfig {
    /// Checks the settings against a ring of `slots` slots. Returns the free slots for a restart.
    pub(super) fn validate(
        &self,
        slots: u32,
        slots_of_largest: u32,
    ) -> Result<u32, QueueConfigError> {
        let at_least_one = [
            ("restart_slots", self.restart_slots.unwrap_or(1)),
            ("burst_packets", self.burst_packets),
            ("reap_budget_packets", self.reap_budget_packets),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(QueueConfigError::Zero(name));
        }
        if slots_of_largest > slots || slots == 0 {
            return Err(QueueConfigError::LargestAboveRing {
                slots_of_largest,
                slots,
            });
        }
        let restart_slots = self.restart_slots.unwrap_or((slots / 2).max(1));
        // A queue that waits for more slots than the ring has would never restart.
        if restart_slots > slots {
            return Err(QueueConfigError::RestartAboveRing {
                restart_slots,
                slots,
            });
        }
        Ok(restart_slots)
    }
}
