//! Objects that stay in flight for too long.

use taut_dql::stall::{DEFAULT_THRESHOLD_NS, Stall};

/// Compares the age of the oldest object with a threshold, for sockets and tunnels. While the path
/// is stalled, one object is admitted per threshold, so that its completion shows when the path
/// works again.
#[derive(Debug)]
pub struct StallTimer {
    /// 0: no stall detection.
    threshold_ns: u64,
    stalled: Option<Stalled>,
}

#[derive(Debug, Clone, Copy)]
struct Stalled {
    /// When one object is admitted without room.
    probe_at_ns: u64,
    /// When the stall is reported again.
    report_at_ns: u64,
}

impl StallTimer {
    /// Creates a timer with a threshold in ns; 0 disables the detection.
    pub fn new(threshold_ns: u64) -> Self {
        Self {
            threshold_ns,
            stalled: None,
        }
    }

    /// Returns `true` if the last check found a stall.
    pub fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// Returns `true` if an object can be sent at `now_ns` without room.
    pub fn allows_probe(&self, now_ns: u64) -> bool {
        self.stalled.is_some_and(|it| now_ns >= it.probe_at_ns)
    }

    /// Records a sent object: the next one without room is admitted a threshold later.
    pub fn sent(&mut self, now_ns: u64) {
        if let Some(stalled) = &mut self.stalled {
            stalled.probe_at_ns = now_ns.saturating_add(self.threshold_ns);
        }
    }

    /// Ends a stall: an object completed, or none is in flight.
    pub fn clear(&mut self) {
        self.stalled = None;
    }

    /// Checks the oldest object, which was sent at `oldest_ns`.
    pub fn check(&mut self, oldest_ns: Option<u64>, now_ns: u64) -> Option<Stall> {
        let since_ns = oldest_ns.unwrap_or(now_ns);
        let age_ns = now_ns.saturating_sub(since_ns);
        if self.threshold_ns == 0 || age_ns <= self.threshold_ns {
            self.stalled = None;
            return None;
        }
        let probe_at_ns = self.stalled.map_or(now_ns, |it| it.probe_at_ns);
        self.stalled = Some(Stalled {
            probe_at_ns,
            report_at_ns: now_ns.saturating_add(self.threshold_ns),
        });
        Some(Stall { age_ns, since_ns })
    }

    /// Returns when to check again.
    pub fn next_wakeup(&self, oldest_ns: u64) -> Option<u64> {
        match self.stalled {
            _ if self.threshold_ns == 0 => None,
            Some(stalled) => Some(stalled.report_at_ns),
            None => Some(oldest_ns.saturating_add(self.threshold_ns + 1)),
        }
    }

    /// Returns the silence after which a notification counts as lost, although one object was sent
    /// in the meantime: twice the threshold.
    pub(super) fn silence_ns(&self) -> u64 {
        let threshold_ns = match self.threshold_ns {
            0 => DEFAULT_THRESHOLD_NS,
            threshold_ns => threshold_ns,
        };
        threshold_ns.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stall_is_reported_while_it_lasts() {
        let mut timer = StallTimer::new(100);
        assert_eq!(timer.check(Some(50), 150), None);
        assert_eq!(timer.next_wakeup(50), Some(151));
        let stall = timer.check(Some(50), 151);
        let expected = Stall {
            age_ns: 101,
            since_ns: 50,
        };
        assert_eq!(stall, Some(expected));
        assert_eq!(timer.next_wakeup(50), Some(251));
        assert!(timer.check(Some(50), 251).is_some());
        assert_eq!(timer.check(Some(200), 260), None, "it moved on");
        assert!(!timer.is_stalled());
        assert_eq!(timer.check(None, 10_000), None, "nothing in flight");
    }

    #[test]
    fn stall_admits_one_object_per_threshold() {
        let mut timer = StallTimer::new(100);
        assert!(!timer.allows_probe(1_000));
        timer.check(Some(0), 101);
        assert!(timer.allows_probe(101));
        timer.sent(101);
        assert!(!timer.allows_probe(200));
        timer.check(Some(0), 200);
        assert!(timer.allows_probe(201));
    }

    #[test]
    fn threshold_of_zero_detects_nothing() {
        let mut timer = StallTimer::new(0);
        assert_eq!(timer.check(Some(0), u64::MAX), None);
        assert_eq!(timer.next_wakeup(0), None);
        assert_eq!(timer.silence_ns(), 2 * DEFAULT_THRESHOLD_NS);
    }
}
