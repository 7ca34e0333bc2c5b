//! The oldest unit in flight, from the generations of the units that return.

use crate::sharing::{Sharing, Wide, Word};
use crate::stall::Stall;
use crate::stall::generations::{Generations, MAX_GENERATIONS, generation_length_ns};

const SLOTS: usize = MAX_GENERATIONS as usize;

const fn slot(number: u32) -> usize {
    (number % MAX_GENERATIONS) as usize
}

/// A generation before the newest.
#[derive(Clone, Copy, Debug, Default)]
struct Generation {
    /// Units in flight.
    left: u32,
    begun_ns: u64,
}

/// The newest generation: where and when it began, and how much of it is complete.
#[derive(Clone, Copy, Debug)]
struct NewestGeneration {
    number: u32,
    begins_at: u32,
    begun_ns: u64,
    completed: u32,
}

impl NewestGeneration {
    /// Units in flight of it, if `num_queued` were queued by its end. Below 0 if units of an older
    /// generation returned with its number.
    fn left(&self, num_queued: u32) -> i32 {
        let queued = num_queued.wrapping_sub(self.begins_at);
        queued.wrapping_sub(self.completed) as i32
    }
}

/// The completer's part: finds the oldest unit in flight.
#[derive(Debug)]
pub struct StallDetector {
    threshold_ns: u64,
    newest: NewestGeneration,
    /// Number of the oldest generation with units in flight; that of the newest if there is none.
    oldest: u32,
    older: [Generation; SLOTS],
    /// Since when the ring is full with nothing in flight, in ns.
    stuck_since_ns: Option<u64>,
    /// No check before this time can find a new stall, in ns.
    due_ns: u64,
    /// The current stall was reported. It is checked again at this time, in ns.
    stalled_until_ns: Option<u64>,
    count: u64,
    longest_ns: u64,
}

impl StallDetector {
    /// Detects units that are in flight for longer than `threshold_ns`; 0 turns detection off.
    pub fn new(threshold_ns: u64, now_ns: u64) -> Self {
        Self {
            threshold_ns,
            newest: NewestGeneration {
                number: 0,
                begins_at: 0,
                begun_ns: now_ns,
                completed: 0,
            },
            oldest: 0,
            older: [Generation::default(); SLOTS],
            stuck_since_ns: None,
            due_ns: now_ns.saturating_add(threshold_ns),
            stalled_until_ns: None,
            count: 0,
            longest_ns: 0,
        }
    }

    /// Returns the number of the newest generation that the completer follows.
    pub fn newest(&self) -> u32 {
        self.newest.number
    }

    /// The threshold, in ns; 0 is off.
    pub fn threshold_ns(&self) -> u64 {
        self.threshold_ns
    }

    /// Stalls so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest stall so far, in ns; 0 without any.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Changes the threshold; 0 turns detection off. The sender follows at its next generation.
    pub fn set_threshold_ns<M: Sharing>(&mut self, shared: &Generations<M>, threshold_ns: u64) {
        // Until then generations are as long as before, and may overstate by more than an eighth of
        // the new threshold: they count from their latest possible start.
        let length_ns = shared.length_ns.load();
        for generation in &mut self.older {
            generation.begun_ns = generation.begun_ns.saturating_add(length_ns);
        }
        self.newest.begun_ns = self.newest.begun_ns.saturating_add(length_ns);
        shared.length_ns.store(generation_length_ns(threshold_ns));
        self.threshold_ns = threshold_ns;
        (self.due_ns, self.stalled_until_ns) = (0, None);
    }

    /// Returns `true` if the sender has begun a generation that the completer does not follow yet.
    #[inline]
    pub fn is_behind<M: Sharing>(&self, shared: &Generations<M>) -> bool {
        shared.number.load_acquire() != self.newest.number
    }

    /// Continues with the generation that the sender began. `units` of the previous generation
    /// returned in this batch so far.
    #[cold]
    pub fn follow<M: Sharing>(&mut self, shared: &Generations<M>, units: u32) {
        let begins_at = shared.begins_at.load();
        let left = self.newest.left(begins_at).wrapping_sub(units as i32);
        self.older[slot(self.newest.number)] = Generation {
            left: left.max(0) as u32,
            begun_ns: self.newest.begun_ns,
        };
        self.newest = NewestGeneration {
            number: shared.number.load(),
            begins_at,
            begun_ns: shared.begun_ns.load(),
            // They are counted with the batch, too.
            completed: 0_u32.wrapping_sub(units),
        };
        self.take_oldest(left.min(0).unsigned_abs());
        self.skip_empty();
        self.allow(shared);
    }

    /// Lets the sender begin another generation, if there is a place for it.
    fn allow<M: Sharing>(&self, shared: &Generations<M>) {
        if self.newest.number.wrapping_sub(self.oldest) < MAX_GENERATIONS - 1 {
            shared.known.store_release(self.newest.number);
        }
    }

    fn skip_empty(&mut self) {
        while self.oldest != self.newest.number && self.oldest().left == 0 {
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    fn oldest(&mut self) -> &mut Generation {
        &mut self.older[slot(self.oldest)]
    }

    /// Counts all units of a batch, those of [`completed_in`](Self::completed_in) included.
    #[inline]
    pub fn completed(&mut self, units: u32) {
        self.newest.completed = self.newest.completed.wrapping_add(units);
    }

    /// Counts units that returned in FIFO order: those of the oldest generation come first.
    pub fn completed_in_order<M: Sharing>(&mut self, shared: &Generations<M>, units: u32) {
        let of_older = self.take_oldest(units);
        self.completed(units - of_older);
        self.skip_empty();
        self.allow(shared);
    }

    /// Moves the start of each generation to `at_ns`, unless it began later: nothing in flight was
    /// queued before.
    pub fn begin_no_earlier_than(&mut self, at_ns: u64) {
        for generation in &mut self.older {
            generation.begun_ns = generation.begun_ns.max(at_ns);
        }
        self.newest.begun_ns = self.newest.begun_ns.max(at_ns);
    }

    /// Returns `true` from the check that finds a stall to the check that finds it over.
    pub fn is_stalled(&self) -> bool {
        self.stalled_until_ns.is_some()
    }

    /// Assigns `units` of a batch to an older generation; [`completed`](Self::completed) counts
    /// them. After a repair, two generations can have the same number. Units beyond those in flight
    /// of `generation` are then assigned to the oldest one.
    pub fn completed_in(&mut self, generation: u32, units: u32) {
        let generation = &mut self.older[slot(generation)];
        let of_generation = units.min(generation.left);
        generation.left -= of_generation;
        let of_oldest = self.take_oldest(units - of_generation);
        let of_older = of_generation + of_oldest;
        self.newest.completed = self.newest.completed.wrapping_sub(of_older);
    }

    /// Completes up to `units` of the oldest generations before the newest. Returns how many.
    fn take_oldest(&mut self, units: u32) -> u32 {
        let mut left = units;
        while left > 0 {
            self.skip_empty();
            if self.oldest == self.newest.number {
                break;
            }
            let generation = self.oldest();
            let taken = left.min(generation.left);
            generation.left -= taken;
            left -= taken;
        }
        units - left
    }

    /// A reset: nothing is in flight.
    pub fn reset<M: Sharing>(&mut self, shared: &Generations<M>, num_queued: u32, now_ns: u64) {
        self.newest = NewestGeneration {
            number: shared.number.load_acquire(),
            begins_at: num_queued,
            begun_ns: now_ns,
            completed: 0,
        };
        self.oldest = self.newest.number;
        self.older = [Generation::default(); SLOTS];
        self.restart();
        shared.known.store_release(self.newest.number);
    }

    /// A repair: `in_flight` units are in flight, whatever was counted. An excess is taken from the
    /// oldest generations. The generations of units from before the repair are meaningless.
    pub fn repair(&mut self, num_queued: u32, in_flight: u32, now_ns: u64) {
        let older = self.older.iter().map(|generation| generation.left);
        let counted = older.fold(self.newest.left(num_queued) as u32, u32::wrapping_add);
        let excess = counted.wrapping_sub(in_flight) as i32;
        let of_older = self.take_oldest(excess.max(0).unsigned_abs());
        let of_newest = (excess as u32).wrapping_sub(of_older);
        self.newest.completed = self.newest.completed.wrapping_add(of_newest);
        for generation in &mut self.older {
            generation.begun_ns = now_ns;
        }
        self.newest.begun_ns = now_ns;
        self.restart();
    }

    fn restart(&mut self) {
        (self.due_ns, self.stalled_until_ns, self.stuck_since_ns) = (0, None, None);
    }

    /// Returns the earliest time at which the oldest unit in flight was queued, in ns.
    fn oldest_since_ns<M: Sharing>(&self, shared: &Generations<M>, num_queued: u32) -> Option<u64> {
        if self.oldest != self.newest.number {
            return Some(self.older[slot(self.oldest)].begun_ns);
        }
        if self.is_behind(shared) {
            let begins_at = shared.begins_at.load();
            if self.newest.left(begins_at) <= 0 {
                return (num_queued != begins_at).then(|| shared.begun_ns.load());
            }
        }
        (self.newest.left(num_queued) > 0).then_some(self.newest.begun_ns)
    }

    /// Returns `true` if a check can change something.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Checks for a stall, for a completer that follows the newest generation. `is_stuck`: the ring
    /// is full with nothing in flight, so it holds packets from before a reset.
    #[inline(never)]
    pub fn check<M: Sharing>(
        &mut self,
        shared: &Generations<M>,
        num_queued: u32,
        is_stuck: bool,
        now_ns: u64,
    ) -> Option<Stall> {
        let over = self.newest.left(num_queued).min(0).unsigned_abs();
        let of_oldest = self.take_oldest(over);
        self.newest.completed = self.newest.completed.wrapping_sub(of_oldest);
        self.skip_empty();
        self.allow(shared);
        if self.threshold_ns == 0 {
            self.due_ns = u64::MAX;
            return None;
        }
        self.stuck_since_ns = is_stuck.then(|| self.stuck_since_ns.unwrap_or(now_ns));
        let since_ns = self
            .stuck_since_ns
            .or(self.oldest_since_ns(shared, num_queued));
        let age_ns = since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        if age_ns <= self.threshold_ns {
            self.stalled_until_ns = None;
            self.due_ns = now_ns.saturating_add(self.threshold_ns - age_ns + 1);
            return None;
        }
        self.count += u64::from(self.stalled_until_ns.is_none());
        self.longest_ns = self.longest_ns.max(age_ns);
        self.stalled_until_ns = Some(now_ns.saturating_add(self.threshold_ns));
        self.due_ns = now_ns;
        Some(Stall {
            age_ns,
            since_ns: now_ns - age_ns,
        })
    }

    /// When to check next even if the device reports nothing, in ns. `is_full`: the ring is full.
    pub fn next_wakeup<M: Sharing>(
        &self,
        shared: &Generations<M>,
        num_queued: u32,
        is_full: bool,
    ) -> Option<u64> {
        if self.threshold_ns == 0 {
            return None;
        }
        let oldest_ns = match self.oldest_since_ns(shared, num_queued) {
            Some(since_ns) => since_ns.saturating_add(self.threshold_ns).saturating_add(1),
            // Another thread can send at any time, and lose what it sends; or the ring is full of
            // packets from before a reset.
            None if M::SHARED || is_full => self.due_ns,
            None => return None,
        };
        // A check before `due_ns` does nothing. After one with nothing in flight, the generation of
        // the next unit can be older than that check. During a stall, once for each threshold is
        // enough.
        let not_before_ns = self.due_ns.max(self.stalled_until_ns.unwrap_or(0));
        Some(oldest_ns.max(not_before_ns))
    }
}
