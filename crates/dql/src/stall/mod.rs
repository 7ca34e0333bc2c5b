mod marks;

use crate::counter::positive_difference;
use marks::{Mark, Marks};

/// Finds a queue whose oldest unit in flight is older than a threshold: a device that stopped, or a
/// driver that reports less than it was given. It is cheap enough to be always on: a few
/// comparisons for a completion, and for a check that finds nothing.
///
/// It looks at ages, not at the time since the last completion, so it also finds the queue in which
/// something completes again and again while more is queued than ever comes back.
///
/// It owns no counters. Whoever completes feeds it the totals (wrapping, first in first out: a
/// completion is of the oldest units), and asks at any time. `queued` takes no clock, so what is
/// known is a *mark* now and then: that so much was queued by then. Marks are left by completions,
/// at least a sixteenth of the threshold apart. The age of the oldest unit is the time since the
/// latest mark that does not include it, or since the current burst began when that is later.
///
/// # How exact
/// - An age is **never understated**: a stall is reported by the first check after the oldest unit
///   is older than the threshold.
/// - Up to the threshold, an age is too old by at most a sixteenth of the threshold and one
///   completion interval together. So while completions are at most an eighth of the threshold
///   apart, no stall is reported of a unit younger than four fifths of it.
/// - Beyond, the error grows in proportion: it is at most that or
///   `age * ((oldest / threshold)^(1/3) - 1)`, whichever is more, where `oldest` is the largest true
///   age there was: a quarter of the age when that was twice the threshold.
/// - Marks that stand when the threshold is changed keep their distance: the last two hold again
///   when all that was in flight then is completed.
#[derive(Clone, Debug)]
pub struct StallWatch {
    /// `u64::MAX` when it is off: no age is above that.
    threshold_ns: u64,
    marks: Marks,
    /// When the next mark is due. Until then a completion has something to do here only if it
    /// passes a mark, which is also the only way in which it can end a stall.
    next_mark_ns: u64,
    /// The total at which the first mark ahead is passed. With none ahead it is one that was
    /// far away when it was chosen; to reach it does no harm.
    pass_at: u32,
    stalled: bool,
    count: u64,
    longest_ns: u64,
    last_at_ns: u64,
}

/// A queue that stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// How long the oldest unit has been in flight, as exactly as [`StallWatch`] knows.
    pub age_ns: u64,
    /// Since when, on the caller's clock: now minus the age.
    pub since_ns: u64,
}

/// The threshold that is off.
const OFF_NS: u64 = u64::MAX;

/// Further ahead than any total can be compared with.
const FAR: u32 = i32::MAX as u32;

impl StallWatch {
    /// A threshold for any link: 1 s. Longer than one object can take on a slow link, where a
    /// super-packet of 64 KB takes 0.52 s at 1 Mbit/s; short enough that the owner can act before
    /// transports give a connection up.
    pub const DEFAULT_THRESHOLD_NS: u64 = 1_000_000_000;

    /// A watch for units older than `threshold_ns`; 0 turns it off.
    pub const fn new(threshold_ns: u64) -> Self {
        let mut watch = StallWatch {
            threshold_ns: OFF_NS,
            marks: Marks::new(),
            next_mark_ns: 0,
            pass_at: FAR,
            stalled: false,
            count: 0,
            longest_ns: 0,
            last_at_ns: 0,
        };
        if threshold_ns != 0 {
            watch.threshold_ns = threshold_ns;
        }
        watch
    }

    /// The threshold, in nanoseconds; 0 is off.
    pub fn threshold_ns(&self) -> u64 {
        if self.threshold_ns == OFF_NS {
            0
        } else {
            self.threshold_ns
        }
    }

    /// Changes the threshold, in nanoseconds; 0 turns the watch off, and so does `u64::MAX`. Marks
    /// are kept and left either way, so that ages are right at once when it is turned on.
    pub fn set_threshold_ns(&mut self, threshold_ns: u64) {
        self.threshold_ns = if threshold_ns == 0 {
            OFF_NS
        } else {
            threshold_ns
        };
        // The next completion finds out when the next mark is due.
        self.next_mark_ns = 0;
    }

    /// The least time between two marks. While the watch is off, that of the default threshold.
    fn spacing_ns(&self) -> u64 {
        let threshold_ns = if self.threshold_ns == OFF_NS {
            Self::DEFAULT_THRESHOLD_NS
        } else {
            self.threshold_ns
        };
        threshold_ns.div_ceil(16)
    }

    /// Call it after each completion, with the totals of after it. Most calls are two comparisons.
    #[inline]
    pub fn completed(&mut self, num_queued: u32, num_completed: u32, now_ns: u64) {
        let passes = positive_difference(self.pass_at, num_completed) == 0;
        if now_ns >= self.next_mark_ns || passes {
            self.update_marks(num_queued, num_completed, now_ns);
        }
    }

    #[inline(never)]
    fn update_marks(&mut self, num_queued: u32, num_completed: u32, now_ns: u64) {
        let spacing_ns = self.spacing_ns();
        if now_ns.saturating_sub(self.marks.last().at_ns) >= spacing_ns {
            self.marks.add(Mark {
                num_queued,
                at_ns: now_ns,
            });
        }
        self.marks.drop_passed(num_completed);
        self.pass_at = match self.marks.first_ahead() {
            Some(mark) => mark.num_queued,
            None => num_completed.wrapping_add(FAR),
        };
        if self.age_ns(num_queued, num_completed, 0, now_ns) <= self.threshold_ns {
            self.stalled = false;
        }
        self.next_mark_ns = self.marks.last().at_ns.saturating_add(spacing_ns);
    }

    /// Whether the oldest unit in flight is older than the threshold now. The totals are those of
    /// this moment; `burst_start_ns` is when something was last queued on an empty queue. A stall
    /// counts once, from the check that finds it to the check or completion that finds it over.
    #[must_use = "a stall that nobody is told of"]
    #[inline]
    pub fn check(
        &mut self,
        num_queued: u32,
        num_completed: u32,
        burst_start_ns: u64,
        now_ns: u64,
    ) -> Option<Stall> {
        // No other mark is earlier than the first, so no age is above this.
        let most_ns = now_ns.saturating_sub(self.marks.first().at_ns.max(burst_start_ns));
        let fine = most_ns <= self.threshold_ns || num_queued == num_completed;
        if fine && !self.stalled {
            return None;
        }
        self.check_age(num_queued, num_completed, burst_start_ns, now_ns)
    }

    #[cold]
    #[inline(never)]
    fn check_age(
        &mut self,
        num_queued: u32,
        num_completed: u32,
        burst_start_ns: u64,
        now_ns: u64,
    ) -> Option<Stall> {
        let age_ns = self.age_ns(num_queued, num_completed, burst_start_ns, now_ns);
        if age_ns <= self.threshold_ns {
            self.stalled = false;
            return None;
        }
        if !self.stalled {
            self.stalled = true;
            self.count += 1;
        }
        self.longest_ns = self.longest_ns.max(age_ns);
        self.last_at_ns = now_ns;
        Some(Stall {
            age_ns,
            since_ns: now_ns - age_ns,
        })
    }

    /// How long the oldest unit has been in flight, in nanoseconds; 0 when nothing is in flight.
    /// The arguments are those of [`check`](StallWatch::check).
    #[must_use]
    pub fn age_ns(
        &self,
        num_queued: u32,
        num_completed: u32,
        burst_start_ns: u64,
        now_ns: u64,
    ) -> u64 {
        if num_queued == num_completed {
            return 0;
        }
        // What is in flight was queued since the queue was last empty, and after this mark.
        let mark = self.marks.passed(num_completed);
        now_ns.saturating_sub(mark.at_ns.max(burst_start_ns))
    }

    /// How many stalls there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The greatest age that a check has found above the threshold, in nanoseconds; 0 without any.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// When a check last found a stall, on the caller's clock; 0 without any.
    pub fn last_at_ns(&self) -> u64 {
        self.last_at_ns
    }

    /// Forgets the marks and the stall that lasts, for when the queue is reset; the counts stay.
    pub fn reset(&mut self) {
        self.marks.forget();
        self.pass_at = FAR;
        self.next_mark_ns = 0;
        self.stalled = false;
    }
}
