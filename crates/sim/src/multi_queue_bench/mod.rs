//! Several transmit queues of one NIC, in virtual time, with or without a shared budget.
//!
//! [`observe`] first gives each queue the link alone for a time, one after the other. After a pause
//! all queues send together, and the bytes in flight of that phase are reported.

mod run;

use taut_path::AnyLimit;

pub use run::observe;

use crate::NEVER_NS;
use crate::error::{TestbedError, demand, demand_countable};
use crate::nic::NicConfig;
use crate::queue::MAX_BACKLOG_PACKETS;
use crate::time_series::TimeSeries;

/// The budget over the sum of all queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedBudget {
    /// No budget: each queue has only its own limit.
    None,
    /// A rule over all queues together.
    Rule {
        /// The rule; it must count bytes.
        limit: AnyLimit,
        /// Interval between its completion batches, in ns.
        interval_ns: u64,
    },
}

/// The device and its workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MultiQueueConfig {
    /// Link rate, size of each ring, interrupts, seed.
    pub nic: NicConfig,
    /// Number of queues; at least 1.
    pub queues: usize,
    /// Size of every object, in bytes; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub object_bytes: u32,
    /// Packets queued above each queue while it sends; 1 to a million.
    pub backlog_packets: u32,
    /// Time for which each queue sends alone, in ns.
    pub alone_ns: u64,
    /// Pause after these phases, in ns.
    pub pause_ns: u64,
    /// Time for which all queues send together, in ns.
    pub together_ns: u64,
}

impl MultiQueueConfig {
    /// Checks that a device can be run with the settings. The NIC and the queues check theirs when
    /// they are created.
    ///
    /// # Errors
    /// - If the number of queues is 0, or the backlog is out of range.
    /// - If an object is larger than a limit can count.
    /// - If the end of the run overflows.
    pub fn check(&self) -> Result<(), TestbedError> {
        if self.queues == 0 {
            return Err(TestbedError::Missing("the device has no queue"));
        }
        let allowed_packets = 1..=MAX_BACKLOG_PACKETS.into();
        demand("backlog_packets", self.backlog_packets, allowed_packets)?;
        demand_countable([self.object_bytes].into_iter(), "object_bytes")?;
        demand(
            "the sum of alone_ns for each queue, pause_ns and together_ns",
            self.end_ns().unwrap_or(NEVER_NS),
            0..=NEVER_NS - 1,
        )
    }

    /// Returns the end of the run, in ns, unless it overflows.
    fn end_ns(&self) -> Option<u64> {
        let alone_ns = self.alone_ns.checked_mul(self.queues as u64)?;
        let begin_ns = alone_ns.checked_add(self.pause_ns)?;
        begin_ns.checked_add(self.together_ns)
    }
}

/// Results of the phase in which all queues sent together.
#[derive(Debug, Clone, Default)]
pub struct MultiQueueReport {
    /// Limit of each queue at the start of that phase, in bytes.
    pub limits_bytes: Vec<u32>,
    /// The budget's limit and the bytes in flight in all queues together, from the start of the
    /// phase.
    pub series: TimeSeries,
    /// Link time of each queue, in bytes.
    pub time_bytes: Vec<u64>,
}
