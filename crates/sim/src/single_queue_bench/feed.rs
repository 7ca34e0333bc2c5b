//! Schedules the actions of a bench's sender.

use super::{SingleQueueConfig, TrafficSource};
use crate::NEVER_NS;
use crate::rng::Rng;

/// The schedule of the sender.
pub(super) struct Feed {
    /// Time of the sender's next own action, in ns.
    pub(super) next_ns: u64,
    /// Time at which the packet that is being prepared is ready, in ns.
    pub(super) made_ns: u64,
    /// Packets that are requested and not yet prepared.
    pub(super) requested: u64,
    /// The sender waits for room in the discipline.
    pub(super) asleep: bool,
    pub(super) failed_sends: u64,
    pub(super) wakeups: u64,
    pub(super) rng: Rng,
}

impl Feed {
    pub(super) fn new(config: &SingleQueueConfig) -> Self {
        Self {
            next_ns: 0,
            made_ns: NEVER_NS,
            requested: 0,
            asleep: false,
            failed_sends: 0,
            wakeups: 0,
            // A different random sequence than that of the NIC.
            rng: Rng::new(!config.nic.seed),
        }
    }

    /// Returns the start of the next burst of `source`, in ns.
    pub(super) fn next_burst_ns(&mut self, source: TrafficSource, now_ns: u64) -> u64 {
        match source {
            TrafficSource::Saturating | TrafficSource::Blind(_) => NEVER_NS,
            TrafficSource::Bursts {
                every_ns,
                jitter_ns,
                ..
            } => {
                let gap_ns = self.rng.near(every_ns, jitter_ns);
                now_ns.saturating_add(gap_ns.max(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::NicConfig;

    #[test]
    fn burst_jitter_is_symmetric() {
        let config = SingleQueueConfig {
            source: TrafficSource::Bursts {
                packets: 1,
                every_ns: 1_000,
                jitter_ns: 400,
            },
            ..SingleQueueConfig::saturated(NicConfig::plain(1, 64), 1)
        };
        let mut feed = Feed::new(&config);
        let mut gap_ns = || feed.next_burst_ns(config.source, 7) - 7;
        let gaps_ns: Vec<u64> = (0..1_000).map(|_| gap_ns()).collect();
        let (min_ns, max_ns) = (gaps_ns.iter().min(), gaps_ns.iter().max());
        assert!(
            min_ns.is_some_and(|ns| (600..620).contains(ns)),
            "{min_ns:?}"
        );
        assert!(
            max_ns.is_some_and(|ns| (1_380..=1_400).contains(ns)),
            "{max_ns:?}"
        );
        let mean_ns = gaps_ns.iter().sum::<u64>() / 1_000;
        assert!((970..1_030).contains(&mean_ns), "{mean_ns}");
    }
}
