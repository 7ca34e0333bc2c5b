//! Due time of an endpoint's timer. It is postponed with each packet, so most scheduled checks are
//! early.

use crate::NEVER_NS;

/// The earliest of an endpoint's timers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timer {
    due_ns: u64,
    /// Time of the next scheduled check, in ns; never later than `due_ns`, unless that was set to
    /// an earlier time.
    check_ns: u64,
}

/// Result of a timer check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerCheck {
    /// The timer is due.
    Due,
    /// Check again at this time, in ns.
    At(u64),
    /// The timer is off, or a check is already scheduled.
    Nothing,
}

impl Timer {
    /// A timer that is never due.
    pub const NEVER: Self = Self {
        due_ns: NEVER_NS,
        check_ns: NEVER_NS,
    };

    /// Sets the due time. Returns the time for a check if none is scheduled by then. The caller
    /// must schedule it and call [`check_is_scheduled`](Self::check_is_scheduled), or set the timer
    /// again before that time.
    #[inline]
    pub fn set(&mut self, due_ns: u64) -> Option<u64> {
        self.due_ns = due_ns;
        (due_ns < self.check_ns).then_some(due_ns)
    }

    /// Records that a check is scheduled for the time that was returned last.
    pub fn check_is_scheduled(&mut self) {
        self.check_ns = self.due_ns;
    }

    /// Performs a scheduled check at `now_ns`. As after [`set`](Self::set), another one can be
    /// needed.
    pub fn check(&mut self, now_ns: u64) -> TimerCheck {
        if self.check_ns <= now_ns {
            self.check_ns = NEVER_NS;
        }
        if self.due_ns <= now_ns {
            return TimerCheck::Due;
        }
        if self.due_ns < self.check_ns {
            TimerCheck::At(self.due_ns)
        } else {
            TimerCheck::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postponed_timer_needs_one_check_per_earlier_setting() {
        let mut timer = Timer::NEVER;
        assert_eq!(timer.set(40), Some(40));
        timer.check_is_scheduled();
        assert_eq!(timer.set(90), None, "a check at 40 is scheduled");
        assert_eq!(timer.set(20), Some(20), "an earlier one is needed");
        timer.check_is_scheduled();
        assert_eq!(timer.set(90), None);
        assert_eq!(timer.check(20), TimerCheck::At(90));
        timer.check_is_scheduled();
        assert_eq!(
            timer.check(40),
            TimerCheck::Nothing,
            "the check at 90 is scheduled"
        );
        assert_eq!(timer.check(90), TimerCheck::Due);
        assert_eq!(timer.set(NEVER_NS), None);
        assert_eq!(timer.check(95), TimerCheck::Nothing);
    }

    #[test]
    fn unscheduled_check_is_requested_again() {
        let mut timer = Timer::NEVER;
        assert_eq!(timer.set(40), Some(40));
        assert_eq!(timer.set(50), Some(50));
        assert_eq!(timer.set(NEVER_NS), None, "it was not needed");
    }
}
