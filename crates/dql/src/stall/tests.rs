//! Both parts of stall detection over one ledger.

use super::{AGES, AgeClock, AgeLine, Stall, StallDetector};
use crate::ledger::Ledger;
use crate::sharing::Local;

const S: u64 = 1_000_000_000;
const AGE_NS: u64 = S / AGES as u64;

/// Both sides, the totals that a ledger has, and marks of packets in flight.
struct Both {
    line: AgeLine<Local>,
    clock: AgeClock,
    detector: StallDetector,
    ledger: Ledger<Local>,
    age: u32,
}

impl Both {
    fn new() -> Self {
        Self {
            line: AgeLine::new(S),
            clock: AgeClock::default(),
            detector: StallDetector::new(S, 0),
            ledger: Ledger::new(u32::MAX / 4),
            age: 0,
        }
    }

    /// Sends a packet of one unit. Returns its age.
    fn send(&mut self, now_ns: u64) -> u32 {
        if let Some(age) = self.clock.run(&self.line, &self.ledger, now_ns) {
            self.age = age % AGES;
        }
        self.ledger.queued(1).expect("a unit");
        self.age
    }

    fn completes(&mut self, ages: &[u32]) {
        if self.detector.is_behind(&self.line) {
            self.detector.follow(&self.line, 0);
        }
        for &age in ages {
            if age != self.detector.newest() % AGES {
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
fn stall_is_reported_from_threshold_to_end() {
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
fn reordered_completions_are_not_a_stall() {
    let mut both = Both::new();
    let mut in_flight = std::vec::Vec::new();
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
fn ages_restart_at_a_repair() {
    let mut both = Both::new();
    let mut ages: std::vec::Vec<u32> = (0..6).map(|n| both.send(n * AGE_NS)).collect();
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
fn lower_threshold_ignores_recent_packets() {
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
fn ring_full_of_stale_packets_is_a_stall() {
    let mut both = Both::new();
    let check = |both: &mut Both, now_ns| {
        let num_queued = both.ledger.num_queued();
        both.detector.check(&both.line, num_queued, true, now_ns)
    };
    assert_eq!(check(&mut both, 7), None);
    assert_eq!(both.detector.next_wakeup(&both.line, 0, true), Some(S + 8));
    assert!(check(&mut both, S + 8).is_some());
}
