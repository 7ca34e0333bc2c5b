use crate::counter::positive_difference;

/// The youngest marks are never merged. Marks stand at least a sixteenth of the threshold apart, so
/// that 16 of them reach back to the threshold: all the ages where precision decides.
const YOUNG: usize = 16;

/// What is older gets coarser and coarser: a unit of that age is a stall or nearly one, and eight
/// marks tell well enough how long it has lasted.
const OLD: usize = 8;

const MARKS: usize = YOUNG + OLD;

/// A queue's total queued, as seen at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub num_queued: u32,
    pub at_ns: u64,
}

const START: Mark = Mark {
    num_queued: 0,
    at_ns: 0,
};

/// By time, and strictly by `num_queued`. The first is the latest that is completed in full, the
/// others are ahead of what is completed.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    marks: [Mark; MARKS],
    len: usize,
}

impl Marks {
    pub const fn new() -> Self {
        Marks {
            marks: [START; MARKS],
            len: 1,
        }
    }

    pub fn forget(&mut self) {
        self.marks[0] = START;
        self.len = 1;
    }

    /// The latest mark that was completed in full when marks were last dropped.
    #[inline]
    pub fn first(&self) -> Mark {
        self.marks[0]
    }

    pub fn last(&self) -> Mark {
        self.marks[self.len - 1]
    }

    /// The first mark that is not completed in full, if there is one.
    pub fn first_ahead(&self) -> Option<Mark> {
        self.marks[..self.len].get(1).copied()
    }

    /// The latest mark that is completed in full. The first one is by definition.
    pub fn passed(&self, num_completed: u32) -> Mark {
        self.marks[self.passed_index(num_completed)]
    }

    /// Drops what comes before that one.
    pub fn drop_passed(&mut self, num_completed: u32) {
        let passed = self.passed_index(num_completed);
        self.marks.copy_within(passed..self.len, 0);
        self.len -= passed;
    }

    pub fn add(&mut self, mark: Mark) {
        let last = self.len - 1;
        // Nothing was queued since the last one, so the later one says all that both did.
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

    fn passed_index(&self, num_completed: u32) -> usize {
        let passed = self.marks[1..self.len]
            .iter()
            .take_while(|mark| positive_difference(mark.num_queued, num_completed) == 0);
        passed.count()
    }

    /// The old mark whose loss leaves the smallest gap in proportion to its age.
    fn cheapest_to_lose(&self, now_ns: u64) -> usize {
        let gap_and_age = |index: usize| {
            let next_ns = self.marks[index + 1].at_ns;
            let gap_ns = next_ns.saturating_sub(self.marks[index - 1].at_ns);
            let age_ns = now_ns.saturating_sub(next_ns);
            (u128::from(gap_ns), u128::from(age_ns))
        };
        let mut cheapest = 1;
        for index in 2..OLD {
            let (gap, age) = gap_and_age(index);
            let (least_gap, its_age) = gap_and_age(cheapest);
            if gap * its_age < least_gap * age {
                cheapest = index;
            }
        }
        cheapest
    }
}
