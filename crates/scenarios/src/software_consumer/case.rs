//! What is run, and what came of it.

use std::fmt;

use taut_sim::consumer::{ConsumerCore, ConsumerReport, FixedLimits, Notify};

use super::names::Consumer;

/// One consumer, told in one way: a row for each limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftwareConsumerCase {
    /// How fast it is.
    pub consumer: Consumer,
    /// Where it runs.
    pub core: ConsumerCore,
    /// Notify the queue is told of completions.
    pub notify: Notify,
}

impl SoftwareConsumerCase {
    /// Every consumer on every core with every way of telling.
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
        write!(f, "{consumer}, {core} core, told {notify}")
    }
}

/// What came of it.
pub struct SoftwareConsumerOutcome {
    pub(super) fixed: FixedLimits,
    /// With the least fixed limit that is enough.
    pub(super) least: ConsumerReport,
    /// With each limit.
    pub(super) seen: Vec<ConsumerReport>,
}
