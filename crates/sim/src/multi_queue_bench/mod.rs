//! Several transmit queues of one NIC, in virtual time, with or without a budget that they share.
//!
//! [`observe`] lets each queue have the link to itself for a time, one after the other, and after a
//! pause all together, and tells what was in flight then.

mod run;
mod watch;

use taut_path::AnyLimit;

pub use run::observe;

use crate::NEVER_NS;
use crate::error::{TestbedError, demand, demand_countable};
use crate::nic::NicConfig;
use crate::queue::MOST_BACKLOG_PACKETS;

/// What holds the sum of all queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedBudget {
    /// Nothing: each queue has its own limit and no more.
    None,
    /// A rule over all queues together.
    Rule {
        /// Which; it must count bytes.
        limit: AnyLimit,
        /// How often it is told, in ns.
        interval_ns: u64,
    },
}

/// The device, and how it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MultiQueueConfig {
    /// Link rate, each ring, interrupts, seed.
    pub nic: NicConfig,
    /// Queues; at least 1.
    pub queues: usize,
    /// Size of every object, in bytes; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub object_bytes: u32,
    /// Packets that wait above each queue while it sends; 1 to a million.
    pub backlog_packets: u32,
    /// How long each queue has the link to itself, in ns.
    pub alone_ns: u64,
    /// How long none sends then, in ns.
    pub pause_ns: u64,
    /// How long all send together, in ns.
    pub together_ns: u64,
}

impl MultiQueueConfig {
    /// Whether a device can be run with this; NIC and queues look at their settings when they are
    /// made.
    ///
    /// # Errors
    /// If it has no queue, nothing waits above them or more than can, no limit can count an object,
    /// or time ends before the run.
    pub fn check(&self) -> Result<(), TestbedError> {
        if self.queues == 0 {
            return Err(TestbedError::Missing("the device has no queue"));
        }
        let backlog_packets = 1..=MOST_BACKLOG_PACKETS;
        demand(
            backlog_packets.contains(&self.backlog_packets),
            "backlog_packets",
            "1 to 1000000",
        )?;
        demand_countable([self.object_bytes].into_iter(), "object_bytes")?;
        demand(
            self.end_ns().is_some_and(|end_ns| end_ns < NEVER_NS),
            "alone_ns for each queue, pause_ns and together_ns",
            "less than 18446744073709551615 ns together",
        )
    }

    /// When the run ends, if time does not before.
    fn end_ns(&self) -> Option<u64> {
        let alone_ns = self.alone_ns.checked_mul(self.queues as u64)?;
        let begin_ns = alone_ns.checked_add(self.pause_ns)?;
        begin_ns.checked_add(self.together_ns)
    }
}

/// What was seen while all sent together.
#[derive(Debug, Clone, Default)]
pub struct MultiQueueReport {
    /// The own limit of each queue when that began, in bytes.
    pub limits_bytes: Vec<u32>,
    /// What was in flight in all queues together: most, in bytes.
    pub peak_bytes: u64,
    /// The same, times the ns for which it was.
    pub byte_ns: u128,
    /// Time for which it was above the largest own limit and an object for each queue, in ns.
    pub above_ns: u64,
    /// The most in each step of time, also where nothing changed: (ns from the beginning, bytes).
    pub course: Vec<(u64, u64)>,
    /// The budget's limit over time, in bytes.
    pub budget: Vec<(u64, u32)>,
    /// Link time that each queue got, in bytes.
    pub time_bytes: Vec<u64>,
}
