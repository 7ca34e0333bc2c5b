//! What single events do to the limit of the loss budget.

use crate::support::rule::Ruled;
use taut_path::limit::{Limit, LossBudget};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A rule and a clock.
struct Clocked<L> {
    ruled: Ruled<L>,
    now_ns: u64,
}

impl<L: Limit> Clocked<L> {
    fn new(limit: L) -> Self {
        Self {
            ruled: Ruled::new(limit),
            now_ns: 0,
        }
    }

    /// Queues objects of 1,500 bytes up to the limit, and is stopped by it.
    fn refill(&mut self) {
        while self.ruled.has_room() {
            self.ruled.queued(1_500, self.now_ns).expect("countable");
        }
        self.ruled.refused();
    }

    /// `bytes` complete `after_ns` later.
    fn complete(&mut self, after_ns: u64, bytes: u32, more: bool) {
        self.now_ns += after_ns;
        self.ruled.completed(bytes, self.now_ns, more);
    }

    /// A batch `gap_ns` after a refill, as a device of 1 Gbit/s completes it.
    fn batch(&mut self, gap_ns: u64) {
        self.refill();
        let sent = u32::try_from(gap_ns / 8).expect("a short gap");
        self.complete(gap_ns, sent.min(self.ruled.in_flight()), false);
    }

    /// Batches of gaps that alternate between 80 and 120 us.
    fn batches(&mut self, count: u32) {
        for batch in 0..count {
            self.batch(if batch % 2 == 0 { 80 * US } else { 120 * US });
        }
    }

    /// The sender returns for the last time, and all completes.
    fn go_idle(&mut self) {
        self.ruled.queued(1, self.now_ns).expect("countable");
        let left = self.ruled.in_flight();
        self.complete(1_000 * US, left, false);
    }

    fn limit(&self) -> u32 {
        self.ruled.limit()
    }
}

/// A rule that has run for three seconds.
fn settled() -> Clocked<LossBudget> {
    let mut clocked = Clocked::new(LossBudget::default());
    clocked.batches(30_000);
    clocked
}

#[test]
fn unblocked_sender_does_not_raise_the_limit() {
    let mut clocked = Clocked::new(LossBudget::default());
    for _ in 0..20 {
        (clocked.ruled.queued(50_000, clocked.now_ns)).expect("countable");
        clocked.complete(100 * US, 50_000, false);
    }
    assert!(clocked.limit() <= 1, "{}", clocked.limit());
}

#[test]
fn one_pause_raises_the_limit_by_a_quarter() {
    for pause_ns in [MS, 10 * MS, 50 * MS, 99 * MS, SECOND_NS] {
        let mut clocked = settled();
        let before = clocked.limit();
        let left = clocked.ruled.in_flight();
        clocked.complete(left as u64 * 8, left, false);
        clocked.now_ns += pause_ns;
        clocked.batches(10);
        assert!(
            clocked.limit() <= before + before / 4,
            "{} after {pause_ns} ns, {before} before",
            clocked.limit()
        );
    }
}

/// A device that completes nothing for four seconds is stalled, and no limit would have helped.
#[test]
fn device_stall_does_not_raise_the_limit() {
    let mut clocked = settled();
    let before = clocked.limit();
    clocked.refill();
    let left = clocked.ruled.in_flight();
    clocked.complete(4 * SECOND_NS, left, false);
    // A probe that runs has ended by then.
    clocked.batches(100);
    let limit = clocked.limit();
    assert!(limit <= before + before / 50, "{limit} after {before}");
}

#[test]
fn clock_jump_moves_the_limit_by_a_twentieth() {
    for jump_ns in [-500 * MS as i64, 60 * SECOND_NS as i64] {
        let mut clocked = settled();
        let before = clocked.limit();
        clocked.now_ns = clocked.now_ns.saturating_add_signed(jump_ns);
        for _ in 0..10 {
            clocked.batches(1);
            let limit = clocked.limit();
            assert!(limit.abs_diff(before) <= before / 20, "{limit}, {before}");
        }
    }
}

#[test]
fn idle_time_has_no_effect() {
    let mut clocked = settled();
    let before = clocked.limit();
    clocked.go_idle();
    clocked.now_ns += 10 * SECOND_NS;
    clocked.batches(10);
    let limit = clocked.limit();
    assert!(limit.abs_diff(before) <= before / 20, "{limit}, {before}");
}

#[test]
fn limit_is_relearnt_after_a_reset() {
    let mut clocked = settled();
    let before = clocked.limit();
    clocked.ruled.reset(clocked.now_ns);
    assert!(clocked.limit() <= 1);
    assert_eq!(clocked.ruled.in_flight(), 0);
    clocked.batches(1_000);
    assert!(clocked.limit() >= before / 2, "{}", clocked.limit());
}

/// A program on the sender's core: it takes 101 us a packet and up to 64 at a time, then the sender
/// runs for `round_ns`, in which the device does nothing.
mod program {
    use super::{Clocked, Limit, LossBudget};
    use taut_path::limit::Fixed;

    const PACKET_NS: u64 = 101_000;

    /// Over the later half: the median of the limit, since some rounds are probes, and the share of
    /// the time in which the device worked.
    fn run<L: Limit>(limit: L, round_ns: u64, each: bool, rounds: u32) -> (u32, f64) {
        let mut clocked = Clocked::new(limit);
        let (mut worked_ns, mut from_ns) = (0, 0);
        let mut limits = Vec::new();
        for round in 0..rounds {
            if round == rounds / 2 {
                (worked_ns, from_ns) = (0, clocked.now_ns);
                limits.clear();
            }
            limits.push(clocked.limit());
            while clocked.ruled.has_room() {
                clocked.ruled.queued(1, clocked.now_ns).expect("countable");
            }
            clocked.ruled.refused();
            let packets = clocked.ruled.in_flight().min(64);
            clocked.now_ns += round_ns;
            worked_ns += u64::from(packets) * PACKET_NS;
            if each {
                (0..packets).for_each(|_| clocked.complete(PACKET_NS, 1, false));
            } else {
                clocked.complete(u64::from(packets) * PACKET_NS, packets, false);
            }
        }
        let share = worked_ns as f64 / (clocked.now_ns - from_ns) as f64;
        limits.sort_unstable();
        (limits[limits.len() / 2], share)
    }

    #[test]
    fn program_polls_as_seldom_as_its_cost_requires() {
        for (round_ns, rounds) in [(1_000, 40_000), (8_000, 40_000), (100_000, 10_000)] {
            let best = run(Fixed::bytes(64), round_ns, false, 100).1;
            for each in [false, true] {
                let (limit, share) = run(LossBudget::default(), round_ns, each, rounds);
                // A probe of twice the limit shows half of the cost of a round.
                assert!(share >= 0.998 * best, "{share} of {best}, {round_ns} ns");
                assert!(limit <= 128, "{limit}, {round_ns} ns");
            }
        }
    }
}

/// A program that reads its clock once a loop: objects that the device sent while the program
/// submitted them complete at the time of their own submission.
#[test]
fn completions_at_the_time_of_submission_do_not_raise_the_rate() {
    const LOOP_NS: u64 = 56 * US;
    // 100 Mbit/s: 700 bytes in a loop. The device takes a burst of two objects immediately.
    let (mut clocked, mut sent) = (Clocked::new(LossBudget::default()), 0);
    let mut largest = 0;
    for turn in 0..100_000_u64 {
        let before = clocked.ruled.in_flight();
        clocked.refill();
        let burst = if before == 0 { 3_000 } else { 0 };
        sent += LOOP_NS / 80 + burst;
        let bytes = (sent / 1_500 * 1_500).min(clocked.ruled.in_flight().into());
        sent = (sent - bytes).min(3_000);
        clocked.complete(0, bytes as u32, false);
        clocked.now_ns += LOOP_NS;
        if turn > 50_000 {
            largest = largest.max(clocked.limit());
        }
    }
    assert!(largest < 30_000, "{largest}");
}
