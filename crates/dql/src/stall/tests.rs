//! Both parts of stall detection over one ledger.

use super::{GenerationClock, Generations, MAX_GENERATIONS, Stall, StallDetector};
use crate::ledger::Ledger;
use crate::sharing::Local;

const S: u64 = 1_000_000_000;
const GENERATION_NS: u64 = S / MAX_GENERATIONS as u64;

/// Both sides, the totals that a ledger has, and marks of packets in flight.
struct Both {
    generations: Generations<Local>,
    clock: GenerationClock,
    detector: StallDetector,
    ledger: Ledger<Local>,
    generation: u32,
}

impl Both {
    fn new() -> Self {
        Self {
            generations: Generations::new(S),
            clock: GenerationClock::default(),
            detector: StallDetector::new(S, 0),
            ledger: Ledger::new(u32::MAX / 4),
            generation: 0,
        }
    }

    /// Sends a packet of one unit. Returns its generation.
    fn send(&mut self, now_ns: u64) -> u32 {
        if let Some(generation) = self.clock.run(&self.generations, &self.ledger, now_ns) {
            self.generation = generation % MAX_GENERATIONS;
        }
        self.ledger.queued(1).expect("a unit");
        self.generation
    }

    fn completes(&mut self, generations: &[u32]) {
        if self.detector.is_behind(&self.generations) {
            self.detector.follow(&self.generations, 0);
        }
        for &generation in generations {
            if generation != self.detector.newest() % MAX_GENERATIONS {
                self.detector.completed_in(generation, 1);
            }
        }
        self.detector.completed(generations.len() as u32);
        self.ledger
            .completed(generations.len() as u32, u32::MAX / 4);
    }

    fn check(&mut self, now_ns: u64) -> Option<Stall> {
        self.completes(&[]);
        let num_queued = self.ledger.num_queued();
        self.detector
            .check(&self.generations, num_queued, false, now_ns)
    }
}

#[test]
fn stall_is_reported_from_threshold_to_end() {
    let mut both = Both::new();
    let generation = both.send(5);
    let queued = both.ledger.num_queued();
    let due_ns = both.detector.next_wakeup(&both.generations, queued, false);
    assert_eq!(due_ns, Some(S + 6));
    assert_eq!(both.check(S + 5), None);
    let stall = both.check(S + 6).expect("a stall");
    assert_eq!((stall.age_ns, stall.since_ns), (S + 1, 5));
    assert!(both.check(S + 7).is_some());
    assert_eq!(
        (both.detector.count(), both.detector.longest_ns()),
        (1, S + 2)
    );
    both.completes(&[generation]);
    assert_eq!(both.check(S + 8), None);
    let queued = both.ledger.num_queued();
    assert_eq!(
        both.detector.next_wakeup(&both.generations, queued, false),
        None
    );
}

/// Its generation can be older than the last check, which found nothing in flight.
#[test]
fn next_wakeup_is_due() {
    let mut both = Both::new();
    let generation = both.send(0);
    both.completes(&[generation]);
    let idle_ns = S / 16;
    assert_eq!(both.check(idle_ns), None);
    assert_eq!(both.send(idle_ns), generation);
    let queued = both.ledger.num_queued();
    let wakeup_ns = both.detector.next_wakeup(&both.generations, queued, false);
    let wakeup_ns = wakeup_ns.expect("one unit is in flight");
    assert!(both.detector.is_due(wakeup_ns));
    assert!(both.check(wakeup_ns).is_some());
}

#[test]
fn a_lost_unit_is_found_while_others_complete() {
    let mut both = Both::new();
    both.send(0);
    let mut found_ns = None;
    for step in 1..2_000_u64 {
        let now_ns = step * S / 1_000;
        let generation = both.send(now_ns);
        both.completes(&[generation]);
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
        let now_ns = step * GENERATION_NS / 40;
        in_flight.push(both.send(now_ns));
        if in_flight.len() > 60 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // None stays for longer than 120 steps, three generations.
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
fn generations_restart_at_a_repair() {
    let mut both = Both::new();
    let mut sent: std::vec::Vec<u32> = (0..6).map(|n| both.send(n * GENERATION_NS)).collect();
    both.completes(&[]);
    // The first two are lost. The ledger is corrected before the detector.
    both.ledger.set_in_flight(4, u32::MAX / 4);
    let queued = both.ledger.num_queued();
    both.detector.repair(queued, 4, 6 * GENERATION_NS);
    sent.drain(..2);
    assert_eq!(
        both.check(6 * GENERATION_NS + S),
        None,
        "generations begin at the repair"
    );
    both.completes(&sent);
    assert_eq!(
        both.check(6 * GENERATION_NS + 3 * S),
        None,
        "nothing is in flight"
    );
}

#[test]
fn lower_threshold_ignores_recent_packets() {
    let mut both = Both::new();
    both.send(0);
    both.check(0);
    both.detector.set_threshold_ns(&both.generations, S / 100);
    both.send(GENERATION_NS - 1);
    assert_eq!(both.check(GENERATION_NS + S / 100), None);
    assert!(both.check(GENERATION_NS + S / 100 + 1).is_some());
}

#[test]
fn a_reset_forgets_everything_in_flight() {
    let mut both = Both::new();
    both.send(0);
    both.check(0);
    both.ledger.set_in_flight(0, 0);
    let queued = both.ledger.num_queued();
    both.detector.reset(&both.generations, queued, S);
    assert_eq!(both.check(5 * S), None);
    both.send(5 * S);
    assert!(both.check(6 * S + 1).is_some());
}

#[test]
fn ring_full_of_stale_packets_is_a_stall() {
    let mut both = Both::new();
    let check = |both: &mut Both, now_ns| {
        let num_queued = both.ledger.num_queued();
        both.detector
            .check(&both.generations, num_queued, true, now_ns)
    };
    assert_eq!(check(&mut both, 7), None);
    assert_eq!(
        both.detector.next_wakeup(&both.generations, 0, true),
        Some(S + 8)
    );
    assert!(check(&mut both, S + 8).is_some());
}
