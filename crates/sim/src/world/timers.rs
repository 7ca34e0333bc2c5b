//! When each endpoint's timers are due, kept apart from the endpoints: timers move on with each
//! packet, most looks come too early, and finding that out must not fetch a whole endpoint.

const NEVER_NS: u64 = u64::MAX;

/// One endpoint's timers.
#[derive(Debug, Clone, Copy)]
struct Timer {
    due_ns: u64,
    /// When the next look is scheduled; never later than `due_ns`.
    look_ns: u64,
}

/// The timers of all endpoints, by connection and host.
#[derive(Debug, Default)]
pub(super) struct Timers(Vec<[Timer; 2]>);

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

impl Timers {
    /// Adds the two endpoints of a connection, without timers.
    pub fn add(&mut self) {
        self.0.push(
            [Timer {
                due_ns: NEVER_NS,
                look_ns: NEVER_NS,
            }; 2],
        );
    }

    /// Sets when an endpoint's next timer is due. Returns when to look, if no look is scheduled by
    /// then.
    pub fn set(&mut self, connection: u32, host: usize, due_ns: Option<u64>) -> Option<u64> {
        let timer = &mut self.0[connection as usize][host];
        timer.due_ns = due_ns.unwrap_or(NEVER_NS);
        timer.look_again()
    }

    /// A scheduled look at `now_ns`.
    pub fn look(&mut self, connection: u32, host: usize, now_ns: u64) -> Look {
        let timer = &mut self.0[connection as usize][host];
        if timer.look_ns <= now_ns {
            timer.look_ns = NEVER_NS;
        }
        if timer.due_ns <= now_ns {
            return Look::Due;
        }
        timer.look_again().map_or(Look::Nothing, Look::At)
    }
}

impl Timer {
    fn look_again(&mut self) -> Option<u64> {
        if self.due_ns >= self.look_ns {
            return None;
        }
        self.look_ns = self.due_ns;
        Some(self.look_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_moves_on_is_looked_at_once_for_each_time_it_was_set_earlier() {
        let mut timers = Timers::default();
        timers.add();
        assert_eq!(timers.set(0, 0, Some(40)), Some(40));
        assert_eq!(
            timers.set(0, 0, Some(90)),
            None,
            "a look at 40 is scheduled"
        );
        assert_eq!(
            timers.set(0, 0, Some(20)),
            Some(20),
            "an earlier one is needed"
        );
        assert_eq!(timers.set(0, 0, Some(90)), None);
        assert_eq!(timers.look(0, 0, 20), Look::At(90));
        assert_eq!(
            timers.look(0, 0, 40),
            Look::Nothing,
            "the look at 90 is scheduled"
        );
        assert_eq!(timers.look(0, 0, 90), Look::Due);
        assert_eq!(timers.set(0, 0, None), None);
        assert_eq!(timers.look(0, 0, 95), Look::Nothing);
        assert_eq!(timers.set(0, 1, Some(5)), Some(5), "each end has its own");
    }
}
