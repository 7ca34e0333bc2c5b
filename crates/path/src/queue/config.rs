//! The settings of a queue.

use core::task::Waker;

use taut_dql::stall::DEFAULT_THRESHOLD_NS;

use super::error::QueueConfigError;
use crate::late_segmentation::LateSegmentation;

/// How a queue is set up, besides its parts.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// Free slots at which a queue that stopped for a full ring starts again: the low watermark.
    /// 1 to the ring; best between 1/2 and 3/4 of it, since it must be refilled before it drains.
    /// Half of the ring if `None`.
    pub restart_slots: Option<u32>,
    /// Most packets for one doorbell, at least 1. Default 64, the most that the kernel's bulk
    /// dequeue puts behind one.
    pub burst_packets: u32,
    /// Most packets reaped in one round, at least 1. Default the whole ring at once: the limit
    /// wants whole rounds, not slices of them.
    pub reap_budget_packets: u32,
    /// How far apart completions are handed to the limit, in ns; 0, the default, hands on each
    /// round at once. Packets and slots come back at once in any case.
    pub coalesce_ns: u64,
    /// Age of the oldest unit in flight that counts as a stall, in ns; 0 watches nothing. Default
    /// [`taut_dql::stall::DEFAULT_THRESHOLD_NS`].
    pub stall_threshold_ns: u64,
    /// How super-packets go to a driver that takes chunks; one that sends single segments is given
    /// those unless it is off. Default [`LateSegmentation::Auto`]. At most 511 are cut at a time; another then
    /// goes whole. With chunks, about 50 KB more are allocated.
    pub late_segmentation: LateSegmentation,
    /// Wakes a sender that waits for room; see [`Queue::must_wait`](crate::Queue::must_wait).
    pub waker: Waker,
    /// Wakes whoever completes when somebody else asks for a reset or changes a setting.
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
    /// Checks it against a ring of `slots`; returns the low watermark.
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
        // A queue that waits for more slots than there are never starts again.
        if restart_slots > slots {
            return Err(QueueConfigError::RestartAboveRing {
                restart_slots,
                slots,
            });
        }
        Ok(restart_slots)
    }
}
