use crate::counter::positive_difference;

/// How many marks are kept. A queue whose oldest unit is at most 15 completions old needs no more
/// for an age exact to one completion interval.
const MARKS: usize = 16;

/// A queue's total queued, as seen at one moment.
#[derive(Clone, Copy, Debug)]
struct Mark {
    num_queued: u32,
    at_ns: u64,
}

/// Finds a queue whose oldest unit in flight is older than a threshold: a device that stopped, or a
/// driver that reports less than it was given.
///
/// It looks at ages, not at the time since the last completion, so it also finds the queue in which
/// something completes again and again while more is queued than ever comes back.
///
/// It owns no counters. Whoever completes feeds it the totals (wrapping, first in first out: a
/// completion is of the oldest units), and asks at any time. `queued` takes no clock, so that what
/// is known is a *mark* for each completion: that so much was queued by then. The age of the oldest
/// unit is the time since the latest mark that does not include it, or since the current burst
/// began when that is later. It is **never understated**, and too old by at most one completion
/// interval.
///
/// Only 16 marks are kept. With more completions than that since the oldest unit, marks are merged
/// where it hurts least, and an age is too old by at most one completion interval or `(threshold +
/// true age) * ((1 + oldest / threshold)^(1/7) - 1)`, whichever is more, where `oldest` is the
/// largest true age there was. That is about a tenth of `threshold + true age` as long as nothing is
/// older than the threshold; so, with intervals below a fifth of the threshold, no stall is
/// reported of a unit younger than four fifths of it.
#[derive(Clone, Debug)]
pub struct StallWatch {
    threshold_ns: u64,
    // By time, and strictly by num_queued. The first is the latest that is completed in full, the
    // others are ahead of num_completed.
    marks: [Mark; MARKS],
    len: usize,
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

impl StallWatch {
    /// A watch for units older than `threshold_ns`; 0 turns it off.
    pub const fn new(threshold_ns: u64) -> Self {
        StallWatch {
            threshold_ns,
            marks: [Mark {
                num_queued: 0,
                at_ns: 0,
            }; MARKS],
            len: 1,
            stalled: false,
            count: 0,
            longest_ns: 0,
            last_at_ns: 0,
        }
    }

    /// The threshold, in nanoseconds; 0 is off.
    pub fn threshold_ns(&self) -> u64 {
        self.threshold_ns
    }

    /// Changes the threshold, in nanoseconds; 0 turns the watch off. Marks are kept either way, so
    /// that ages are right at once.
    pub fn set_threshold_ns(&mut self, threshold_ns: u64) {
        self.threshold_ns = threshold_ns;
    }

    /// Leaves a mark: call it after each completion, with the totals of after it.
    pub fn completed(&mut self, num_queued: u32, num_completed: u32, now_ns: u64) {
        self.leave_mark(Mark {
            num_queued,
            at_ns: now_ns,
        });
        let passed = self.passed(num_completed);
        self.marks.copy_within(passed..self.len, 0);
        self.len -= passed;
        if self.age_ns(num_queued, num_completed, 0, now_ns) <= self.threshold_ns {
            self.stalled = false;
        }
    }

    /// Whether the oldest unit in flight is older than the threshold now. The totals are those of
    /// this moment; `burst_start_ns` is when something was last queued on an empty queue. A stall
    /// counts once, from the check that finds it to the check or completion that finds it over.
    pub fn check(
        &mut self,
        num_queued: u32,
        num_completed: u32,
        burst_start_ns: u64,
        now_ns: u64,
    ) -> Option<Stall> {
        let age_ns = self.age_ns(num_queued, num_completed, burst_start_ns, now_ns);
        if self.threshold_ns == 0 || age_ns <= self.threshold_ns {
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
        let mark = self.marks[self.passed(num_completed)];
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
        self.marks[0] = Mark {
            num_queued: 0,
            at_ns: 0,
        };
        self.len = 1;
        self.stalled = false;
    }

    /// The index of the latest mark that is completed in full. The first mark is by definition.
    fn passed(&self, num_completed: u32) -> usize {
        let ahead = self.marks[1..self.len]
            .iter()
            .take_while(|mark| positive_difference(mark.num_queued, num_completed) == 0);
        ahead.count()
    }

    fn leave_mark(&mut self, mark: Mark) {
        // Nothing was queued since the last one, so the later one says all that both did.
        let last = self.len - 1;
        if last > 0 && self.marks[last].num_queued == mark.num_queued {
            self.marks[last] = mark;
            return;
        }
        if self.len == MARKS {
            let merged = self.cheapest_to_lose(mark.at_ns);
            self.marks.copy_within(merged + 1.., merged);
            self.len -= 1;
        }
        self.marks[self.len] = mark;
        self.len += 1;
    }

    /// The mark whose loss leaves the smallest gap, relative to threshold plus age: below the
    /// threshold precision matters in time, above it in proportion.
    fn cheapest_to_lose(&self, now_ns: u64) -> usize {
        let weight = |index: usize| {
            let next_ns = self.marks.get(index + 1).map_or(now_ns, |next| next.at_ns);
            let gap_ns = next_ns.saturating_sub(self.marks[index - 1].at_ns);
            let age_ns = now_ns.saturating_sub(next_ns);
            (
                u128::from(gap_ns),
                u128::from(self.threshold_ns.max(1)) + u128::from(age_ns),
            )
        };
        let mut cheapest = 1;
        for index in 2..MARKS {
            let (gap, scale) = weight(index);
            let (least_gap, least_scale) = weight(cheapest);
            if gap.saturating_mul(least_scale) < least_gap.saturating_mul(scale) {
                cheapest = index;
            }
        }
        cheapest
    }
}
