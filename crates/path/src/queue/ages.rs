//! Stall detection for both halves: how old the oldest unit in flight is, in any order of
//! completion.
//!
//! The sender begins a new *age* every eighth of the threshold. It publishes the total queued by
//! then and the time, and marks packets with the number of the age. The completer derives from the
//! totals, and from the marks of the packets that return, how much of each age is in flight. So an
//! age is never understated, and overstated by at most an eighth of the threshold. One detector
//! finds a device that stopped and a single packet that was lost while others complete around it.

use taut_dql::ledger::Ledger;
use taut_dql::{Stall, StallWatch};

use crate::packet::Mark;
use crate::sharing::{Sharing, Wide, Word};

/// Ages that a mark can tell apart.
const AGES: usize = Mark::AGES as usize;

/// How the two halves agree on ages.
#[derive(Debug)]
pub(super) struct AgeLine<M: Sharing> {
    // Written by the sender: the newest age, and the total queued and the time at which it began.
    number: M::Word,
    begins_at: M::Word,
    begun_ns: M::Wide,
    // Written by the completer: the age after which another can begin, and how long ages are.
    known: M::Word,
    length_ns: M::Wide,
}

impl<M: Sharing> AgeLine<M> {
    pub fn new(threshold_ns: u64) -> Self {
        Self {
            number: M::Word::new(0),
            begins_at: M::Word::new(0),
            begun_ns: M::Wide::new(0),
            known: M::Word::new(0),
            length_ns: M::Wide::new(age_length_ns(threshold_ns)),
        }
    }
}

/// Ages also pass while stalls are not looked for: somebody might set a threshold.
fn age_length_ns(threshold_ns: u64) -> u64 {
    let threshold_ns = match threshold_ns {
        0 => StallWatch::DEFAULT_THRESHOLD_NS,
        threshold_ns => threshold_ns,
    };
    (threshold_ns / AGES as u64).max(1)
}

/// The sender's part: begins ages.
#[derive(Debug)]
pub(super) struct AgeMarker {
    /// The mark of packets that are sent now.
    pub mark: Mark,
    /// When the next age begins, in ns.
    next_ns: u64,
    /// Total queued when this age began.
    begun_at: u32,
}

impl AgeMarker {
    pub fn new(mark: Mark) -> Self {
        Self {
            mark,
            next_ns: 0,
            begun_at: 0,
        }
    }

    /// Begins an age if it is time.
    #[inline]
    pub fn run<M: Sharing>(&mut self, line: &AgeLine<M>, ledger: &Ledger<M>, now_ns: u64) {
        if now_ns >= self.next_ns {
            self.begin(line, ledger.num_queued(), now_ns);
        }
    }

    #[cold]
    fn begin<M: Sharing>(&mut self, line: &AgeLine<M>, num_queued: u32, now_ns: u64) {
        let number = line.number.load();
        if line.known.load_acquire() != number {
            // The completer has not followed yet. An age in which nothing was sent begins now.
            if self.begun_at == num_queued {
                line.begun_ns.store(now_ns);
            }
            return;
        }
        self.next_ns = now_ns.saturating_add(line.length_ns.load());
        self.begun_at = num_queued;
        line.begins_at.store(num_queued);
        line.begun_ns.store(now_ns);
        self.mark = self.mark.in_age(number.wrapping_add(1));
        // Release: a completer that sees the age sees where and when it begins.
        line.number.store_release(number.wrapping_add(1));
    }
}

/// An age before the newest.
#[derive(Clone, Copy, Debug, Default)]
struct Age {
    /// Units in flight.
    left: u32,
    begun_ns: u64,
}

/// The newest age: where and when it began, and how much of it is complete.
#[derive(Clone, Copy, Debug)]
struct NewestAge {
    number: u32,
    begins_at: u32,
    begun_ns: u64,
    completed: u32,
}

impl NewestAge {
    /// Units in flight of it, if `num_queued` were queued by its end. Below 0 if units of an older
    /// age returned with its number.
    fn left(&self, num_queued: u32) -> i32 {
        let queued = num_queued.wrapping_sub(self.begins_at);
        queued.wrapping_sub(self.completed) as i32
    }
}

/// The completer's part: finds the oldest unit in flight.
#[derive(Debug)]
pub(super) struct AgeStallDetector {
    threshold_ns: u64,
    newest: NewestAge,
    /// Number of the oldest age with units in flight; that of the newest if there is none.
    oldest: u32,
    older: [Age; AGES],
    /// Since when the ring is full with nothing in flight, in ns.
    stuck_since_ns: Option<u64>,
    /// No check before this time can find a new stall, in ns.
    due_ns: u64,
    /// The current stall was reported. It is checked again at this time, in ns.
    stalled_until_ns: Option<u64>,
    count: u64,
    longest_ns: u64,
}

impl AgeStallDetector {
    pub fn new(threshold_ns: u64, now_ns: u64) -> Self {
        Self {
            threshold_ns,
            newest: NewestAge {
                number: 0,
                begins_at: 0,
                begun_ns: now_ns,
                completed: 0,
            },
            oldest: 0,
            older: [Age::default(); AGES],
            stuck_since_ns: None,
            due_ns: now_ns.saturating_add(threshold_ns),
            stalled_until_ns: None,
            count: 0,
            longest_ns: 0,
        }
    }

    /// Number of the newest age that the completer follows.
    pub fn newest(&self) -> u32 {
        self.newest.number
    }

    pub fn threshold_ns(&self) -> u64 {
        self.threshold_ns
    }

    /// Stalls so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest of them, in ns.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Changes the threshold; 0 turns detection off. The sender follows at its next age.
    pub fn set_threshold_ns<M: Sharing>(&mut self, line: &AgeLine<M>, threshold_ns: u64) {
        // Until then ages are as long as before, and may overstate by more than an eighth of the new
        // threshold: they count from their latest possible start.
        let length_ns = line.length_ns.load();
        for age in &mut self.older {
            age.begun_ns = age.begun_ns.saturating_add(length_ns);
        }
        self.newest.begun_ns = self.newest.begun_ns.saturating_add(length_ns);
        line.length_ns.store(age_length_ns(threshold_ns));
        self.threshold_ns = threshold_ns;
        (self.due_ns, self.stalled_until_ns) = (0, None);
    }

    /// Returns `true` if the sender has begun an age that the completer does not follow yet.
    #[inline]
    pub fn is_behind<M: Sharing>(&self, line: &AgeLine<M>) -> bool {
        line.number.load_acquire() != self.newest.number
    }

    /// Continues with the age that the sender began. `units` of the previous one returned in this
    /// batch so far.
    #[cold]
    pub fn follow<M: Sharing>(&mut self, line: &AgeLine<M>, units: u32) {
        let begins_at = line.begins_at.load();
        let left = self.newest.left(begins_at).wrapping_sub(units as i32);
        self.older[self.newest.number as usize % AGES] = Age {
            left: left.max(0) as u32,
            begun_ns: self.newest.begun_ns,
        };
        self.newest = NewestAge {
            number: line.number.load(),
            begins_at,
            begun_ns: line.begun_ns.load(),
            // They are counted with the batch, too.
            completed: 0_u32.wrapping_sub(units),
        };
        self.take_oldest(left.min(0).unsigned_abs());
        self.skip_empty();
        self.allow(line);
    }

    /// Lets the sender begin another age, if there is a place for it.
    fn allow<M: Sharing>(&self, line: &AgeLine<M>) {
        if self.newest.number.wrapping_sub(self.oldest) < Mark::AGES - 1 {
            line.known.store_release(self.newest.number);
        }
    }

    fn skip_empty(&mut self) {
        while self.oldest != self.newest.number && self.oldest().left == 0 {
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    fn oldest(&mut self) -> &mut Age {
        &mut self.older[self.oldest as usize % AGES]
    }

    /// Counts all units that returned in a batch.
    #[inline]
    pub fn completed(&mut self, units: u32) {
        self.newest.completed = self.newest.completed.wrapping_add(units);
    }

    /// Counts units of a batch that are of an older age. An age from before a repair might have the
    /// number of another one; what that one does not have is of the oldest.
    pub fn completed_in(&mut self, age: u32, units: u32) {
        let age = &mut self.older[age as usize % AGES];
        let of_age = units.min(age.left);
        age.left -= of_age;
        self.newest.completed = self.newest.completed.wrapping_sub(of_age);
        let rest = units - of_age;
        let of_oldest = self.take_oldest(rest);
        self.newest.completed = self.newest.completed.wrapping_sub(of_oldest);
    }

    /// Completes up to `units` of the oldest ages before the newest. Returns how many.
    fn take_oldest(&mut self, units: u32) -> u32 {
        let mut left = units;
        while left > 0 {
            self.skip_empty();
            if self.oldest == self.newest.number {
                break;
            }
            let age = self.oldest();
            let taken = left.min(age.left);
            age.left -= taken;
            left -= taken;
        }
        units - left
    }

    /// A reset: nothing is in flight.
    pub fn reset<M: Sharing>(&mut self, line: &AgeLine<M>, num_queued: u32, now_ns: u64) {
        self.newest = NewestAge {
            number: line.number.load_acquire(),
            begins_at: num_queued,
            begun_ns: now_ns,
            completed: 0,
        };
        self.oldest = self.newest.number;
        self.older = [Age::default(); AGES];
        self.restart();
        line.known.store_release(self.newest.number);
    }

    /// A repair: `in_flight` units are in flight, whatever was counted. An excess is taken from the
    /// oldest ages. The ages of units from before the repair are meaningless.
    pub fn repair(&mut self, num_queued: u32, in_flight: u32, now_ns: u64) {
        let older = self.older.iter().map(|age| age.left);
        let counted = older.fold(self.newest.left(num_queued) as u32, u32::wrapping_add);
        let excess = counted.wrapping_sub(in_flight) as i32;
        let of_older = self.take_oldest(excess.max(0).unsigned_abs());
        let of_newest = (excess as u32).wrapping_sub(of_older);
        self.newest.completed = self.newest.completed.wrapping_add(of_newest);
        for age in &mut self.older {
            age.begun_ns = now_ns;
        }
        self.newest.begun_ns = now_ns;
        self.restart();
    }

    fn restart(&mut self) {
        (self.due_ns, self.stalled_until_ns, self.stuck_since_ns) = (0, None, None);
    }

    /// Since when the oldest unit in flight is there, at the earliest, in ns.
    fn oldest_since_ns<M: Sharing>(&self, line: &AgeLine<M>, num_queued: u32) -> Option<u64> {
        if self.oldest != self.newest.number {
            return Some(self.older[self.oldest as usize % AGES].begun_ns);
        }
        if self.is_behind(line) {
            let begins_at = line.begins_at.load();
            if self.newest.left(begins_at) <= 0 {
                return (num_queued != begins_at).then(|| line.begun_ns.load());
            }
        }
        (self.newest.left(num_queued) > 0).then_some(self.newest.begun_ns)
    }

    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Checks for a stall, for a completer that follows the newest age. `is_stuck`: the ring is full
    /// with nothing in flight, so it holds packets from before a reset.
    #[inline(never)]
    pub fn check<M: Sharing>(
        &mut self,
        line: &AgeLine<M>,
        num_queued: u32,
        is_stuck: bool,
        now_ns: u64,
    ) -> Option<Stall> {
        let over = self.newest.left(num_queued).min(0).unsigned_abs();
        let of_oldest = self.take_oldest(over);
        self.newest.completed = self.newest.completed.wrapping_sub(of_oldest);
        self.skip_empty();
        self.allow(line);
        if self.threshold_ns == 0 {
            self.due_ns = u64::MAX;
            return None;
        }
        self.stuck_since_ns = is_stuck.then(|| self.stuck_since_ns.unwrap_or(now_ns));
        let since_ns = self
            .stuck_since_ns
            .or(self.oldest_since_ns(line, num_queued));
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
        line: &AgeLine<M>,
        num_queued: u32,
        is_full: bool,
    ) -> Option<u64> {
        if self.threshold_ns == 0 {
            return None;
        }
        let oldest_ns = match self.oldest_since_ns(line, num_queued) {
            Some(since_ns) => since_ns.saturating_add(self.threshold_ns).saturating_add(1),
            // Another thread can send at any time, and lose what it sends; or the ring is full of
            // packets from before a reset.
            None if M::SHARED || is_full => self.due_ns,
            None => return None,
        };
        // During a stall, once for each threshold is enough.
        Some(oldest_ns.max(self.stalled_until_ns.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::Local;

    const S: u64 = 1_000_000_000;
    const AGE_NS: u64 = S / AGES as u64;

    /// Both sides, the totals that a ledger has, and marks of packets in flight.
    struct Both {
        line: AgeLine<Local>,
        marker: AgeMarker,
        detector: AgeStallDetector,
        ledger: Ledger<Local>,
    }

    impl Both {
        fn new() -> Self {
            Self {
                line: AgeLine::new(S),
                marker: AgeMarker::new(Mark::of_new_queue()),
                detector: AgeStallDetector::new(S, 0),
                ledger: Ledger::new(u32::MAX / 4),
            }
        }

        /// Sends a packet of one unit. Returns its age.
        fn send(&mut self, now_ns: u64) -> u32 {
            self.marker.run(&self.line, &self.ledger, now_ns);
            self.ledger.queued(1).expect("a unit");
            self.marker.mark.age()
        }

        fn completes(&mut self, ages: &[u32]) {
            if self.detector.is_behind(&self.line) {
                self.detector.follow(&self.line, 0);
            }
            for &age in ages {
                if age != self.detector.newest() % Mark::AGES {
                    self.detector.completed_in(age, 1);
                }
            }
            self.detector.completed(ages.len() as u32);
            self.ledger.completed(ages.len() as u32, u32::MAX / 4);
        }

        fn check(&mut self, now_ns: u64) -> Option<Stall> {
            self.completes(&[]);
            let num_queued = self.ledger.num_queued();
            self.detector.check(&self.line, num_queued, false, now_ns)
        }
    }

    #[test]
    fn a_stall_is_found_at_the_threshold_and_reported_until_it_ends() {
        let mut both = Both::new();
        let age = both.send(5);
        let queued = both.ledger.num_queued();
        let due_ns = both.detector.next_wakeup(&both.line, queued, false);
        assert_eq!(due_ns, Some(S + 6));
        assert_eq!(both.check(S + 5), None);
        let stall = both.check(S + 6).expect("a stall");
        assert_eq!((stall.age_ns, stall.since_ns), (S + 1, 5));
        assert!(both.check(S + 7).is_some());
        assert_eq!(
            (both.detector.count(), both.detector.longest_ns()),
            (1, S + 2)
        );
        both.completes(&[age]);
        assert_eq!(both.check(S + 8), None);
        let queued = both.ledger.num_queued();
        assert_eq!(both.detector.next_wakeup(&both.line, queued, false), None);
    }

    #[test]
    fn a_lost_unit_is_found_while_others_complete() {
        let mut both = Both::new();
        both.send(0);
        let mut found_ns = None;
        for step in 1..2_000_u64 {
            let now_ns = step * S / 1_000;
            let age = both.send(now_ns);
            both.completes(&[age]);
            if both.check(now_ns).is_some() {
                found_ns = Some(now_ns);
                break;
            }
        }
        let found_ns = found_ns.expect("the lost unit");
        assert!((S..=S + S / 1_000 + 1).contains(&found_ns), "{found_ns}");
    }

    #[test]
    fn units_that_complete_in_any_order_are_no_stall() {
        let mut both = Both::new();
        let mut in_flight = alloc::vec::Vec::new();
        let mut random = 1_u64;
        for step in 0..100_000_u64 {
            let now_ns = step * AGE_NS / 40;
            in_flight.push(both.send(now_ns));
            if in_flight.len() > 60 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                // None stays for longer than 120 steps, three ages.
                let at = if step % 2 == 0 {
                    0
                } else {
                    (random >> 33) as usize % 60
                };
                both.completes(&[in_flight.remove(at)]);
            }
            assert_eq!(both.check(now_ns), None, "step {step}");
        }
        assert_eq!(both.detector.count(), 0);
    }

    #[test]
    fn a_repair_heals_the_ages_of_what_stays_in_flight() {
        let mut both = Both::new();
        let mut ages: alloc::vec::Vec<u32> = (0..6).map(|n| both.send(n * AGE_NS)).collect();
        both.completes(&[]);
        // The first two are lost. The ledger is corrected before the detector.
        both.ledger.set_in_flight(4, u32::MAX / 4);
        let queued = both.ledger.num_queued();
        both.detector.repair(queued, 4, 6 * AGE_NS);
        ages.drain(..2);
        assert_eq!(both.check(6 * AGE_NS + S), None, "ages begin at the repair");
        both.completes(&ages);
        assert_eq!(both.check(6 * AGE_NS + 3 * S), None, "nothing is in flight");
    }

    #[test]
    fn a_lower_threshold_finds_no_stall_in_what_was_just_sent() {
        let mut both = Both::new();
        both.send(0);
        both.check(0);
        both.detector.set_threshold_ns(&both.line, S / 100);
        both.send(AGE_NS - 1);
        assert_eq!(both.check(AGE_NS + S / 100), None);
        assert!(both.check(AGE_NS + S / 100 + 1).is_some());
    }

    #[test]
    fn a_reset_forgets_everything_in_flight() {
        let mut both = Both::new();
        both.send(0);
        both.check(0);
        both.ledger.set_in_flight(0, 0);
        let queued = both.ledger.num_queued();
        both.detector.reset(&both.line, queued, S);
        assert_eq!(both.check(5 * S), None);
        both.send(5 * S);
        assert!(both.check(6 * S + 1).is_some());
    }

    #[test]
    fn a_ring_full_of_forgotten_packets_is_a_stall() {
        let mut both = Both::new();
        let check = |both: &mut Both, now_ns| {
            let num_queued = both.ledger.num_queued();
            both.detector.check(&both.line, num_queued, true, now_ns)
        };
        assert_eq!(check(&mut both, 7), None);
        assert_eq!(both.detector.next_wakeup(&both.line, 0, true), Some(S + 8));
        assert!(check(&mut both, S + 8).is_some());
    }
}
