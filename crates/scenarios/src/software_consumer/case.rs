//! Cases and their outcomes.

use std::fmt;

use taut_sim::consumer::{ConsumerCore, ConsumerReport, FixedLimits, Notify};

use super::names::Consumer;

/// One consumer with one kind of notification: a row for each limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftwareConsumerCase {
    /// The speed of the consumer.
    pub consumer: Consumer,
    /// The core of the consumer.
    pub core: ConsumerCore,
    /// When the queue is notified of completions.
    pub notify: Notify,
}

impl SoftwareConsumerCase {
    /// Returns every consumer on every core with every kind of notification.
    pub fn all(consumers: &[Consumer], cores: &[ConsumerCore], notify: &[Notify]) -> Vec<Self> {
        let mut cases = Vec::new();
        for &consumer in consumers {
            for &core in cores {
                cases.extend(notify.iter().map(|&notify| Self {
                    consumer,
                    core,
                    notify,
                }));
            }
        }
        cases
    }
}

impl fmt::Display for SoftwareConsumerCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            consumer,
            core,
            notify,
        } = self;
        write!(f, "{consumer}, {core} core, notify {notify}")
    }
}

/// The outcome of a case.
pub struct SoftwareConsumerOutcome {
    pub(super) fixed: FixedLimits,
    /// With the smallest sufficient fixed limit.
    pub(super) smallest: ConsumerReport,
    /// With each limit.
    pub(super) seen: Vec<ConsumerReport>,
}
