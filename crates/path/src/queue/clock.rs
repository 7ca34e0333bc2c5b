//! The completer's time, which never goes back.

use super::counters::add;
use super::shared::Shared;
use crate::probe::{Event, Probe};
use crate::sharing::Sharing;

/// The latest time that the completer received.
pub(super) struct LatestTime {
    latest_ns: u64,
    /// The latest time at the last reversal of the clock.
    reversed_ns: Option<u64>,
}

impl LatestTime {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            latest_ns: now_ns,
            reversed_ns: None,
        }
    }

    /// Returns `now_ns`, or the latest time if the clock went back.
    #[inline]
    pub(super) fn advance<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) -> u64 {
        if now_ns < self.latest_ns {
            self.count_reversal(shared, now_ns, probe);
        } else {
            self.latest_ns = now_ns;
        }
        self.latest_ns
    }

    /// Counts a clock that went back, once until it exceeds the latest time again.
    #[cold]
    fn count_reversal<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) {
        if self.reversed_ns.replace(self.latest_ns) != Some(self.latest_ns) {
            add(&shared.completer.clock_reversals, 1);
            let by_ns = self.latest_ns - now_ns;
            probe.event(self.latest_ns, Event::ClockReversed(by_ns));
        }
    }
}
