//! When an endpoint's timer is due. It moves on with each packet, and most looks at it come too
//! early.

use crate::NEVER_NS;

/// The first of an endpoint's timers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timer {
    due_ns: u64,
    /// When the next look is scheduled; never later than `due_ns`, unless that is set again before.
    look_ns: u64,
}

/// What a look at a timer finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The timer is due.
    Due,
    /// Look again then.
    At(u64),
    /// Nothing to wait for, or a look is scheduled already.
    Nothing,
}

impl Timer {
    /// One that is never due.
    pub const NEVER: Self = Self {
        due_ns: NEVER_NS,
        look_ns: NEVER_NS,
    };

    /// Sets when it is due. Returns when to look, if no look is scheduled by then: schedule it and
    /// say so, or set the timer again before.
    #[inline]
    pub fn set(&mut self, due_ns: u64) -> Option<u64> {
        self.due_ns = due_ns;
        (due_ns < self.look_ns).then_some(due_ns)
    }

    /// A look is scheduled for the time that was returned last.
    pub fn look_is_scheduled(&mut self) {
        self.look_ns = self.due_ns;
    }

    /// A look that is scheduled for `look_ns` may be scheduled again, if the timer is not due
    /// before `end_ns`: says for when, and counts on that.
    pub fn move_on(&mut self, look_ns: u64, end_ns: u64) -> Option<u64> {
        // Of several scheduled looks, the others may be what an earlier time of the timer needs.
        let moves = self.look_ns == look_ns && self.due_ns >= end_ns;
        moves.then(|| {
            self.look_ns = self.due_ns;
            self.due_ns
        })
    }

    /// A scheduled look at `now_ns`. As after [`set`](Self::set), another one may be needed.
    pub fn look(&mut self, now_ns: u64) -> Look {
        if self.look_ns <= now_ns {
            self.look_ns = NEVER_NS;
        }
        if self.due_ns <= now_ns {
            return Look::Due;
        }
        if self.due_ns < self.look_ns {
            Look::At(self.due_ns)
        } else {
            Look::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_moves_on_is_looked_at_once_for_each_time_it_was_set_earlier() {
        let mut timer = Timer::NEVER;
        assert_eq!(timer.set(40), Some(40));
        timer.look_is_scheduled();
        assert_eq!(timer.set(90), None, "a look at 40 is scheduled");
        assert_eq!(timer.set(20), Some(20), "an earlier one is needed");
        timer.look_is_scheduled();
        assert_eq!(timer.set(90), None);
        assert_eq!(timer.look(20), Look::At(90));
        timer.look_is_scheduled();
        assert_eq!(timer.look(40), Look::Nothing, "the look at 90 is scheduled");
        assert_eq!(timer.look(90), Look::Due);
        assert_eq!(timer.set(NEVER_NS), None);
        assert_eq!(timer.look(95), Look::Nothing);
    }

    #[test]
    fn a_look_moves_on_with_its_timer() {
        let mut timer = Timer::NEVER;
        assert_eq!(timer.set(40), Some(40));
        timer.look_is_scheduled();
        assert_eq!(timer.move_on(40, 50), None, "it is due before");
        assert_eq!(timer.set(50), None);
        assert_eq!(timer.move_on(30, 50), None, "another look");
        assert_eq!(timer.move_on(40, 50), Some(50));
        assert_eq!(timer.set(60), None, "a look at 50 is scheduled");
        assert_eq!(timer.set(45), Some(45), "an earlier one is needed");
        timer.look_is_scheduled();
        assert_eq!(timer.set(NEVER_NS), None);
        assert_eq!(timer.move_on(45, 50), Some(NEVER_NS), "none is needed");
        assert_eq!(timer.set(70), Some(70));
    }

    #[test]
    fn a_look_that_was_not_scheduled_is_asked_for_again() {
        let mut timer = Timer::NEVER;
        assert_eq!(timer.set(40), Some(40));
        assert_eq!(timer.set(50), Some(50));
        assert_eq!(timer.set(NEVER_NS), None, "it was not needed");
    }
}
