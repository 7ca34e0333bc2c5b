//! What the front end of the rules that size by need makes of single intervals.

use crate::support::rule::Ruled;
use taut_dql::Config;
use taut_path::limit::{Ladder, Limit, Need};

const US: u64 = 1_000;
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

    /// Fills up to `bytes` in flight and wants more.
    fn refill_and_want_more(&mut self, bytes: u32) {
        let missing = bytes - self.ruled.in_flight();
        self.ruled.queued(missing, self.now_ns).expect("countable");
        self.ruled.refused();
    }

    /// So much later `bytes` finish.
    fn complete(&mut self, after_ns: u64, bytes: u32, more: bool) {
        self.now_ns += after_ns;
        self.ruled.completed(bytes, self.now_ns, more);
    }

    /// Refused intervals of 100 us at 1 Gbit/s, without running dry.
    fn steady(&mut self, intervals: u32) {
        for _ in 0..intervals {
            self.refill_and_want_more(27_500);
            self.complete(100 * US, 12_500, false);
        }
    }

    /// The sender comes back for the last time, and all finishes.
    fn go_idle(&mut self) {
        self.ruled.queued(1, self.now_ns).expect("countable");
        self.complete(1_000 * US, 1, false);
        let left = self.ruled.in_flight();
        self.complete(1_000 * US, left, false);
    }

    fn limit(&self) -> u32 {
        self.ruled.limit()
    }
}

fn need_with_room() -> Need {
    let mut need = Need::default();
    let config = Config {
        limit: 20_000,
        min_limit: 20_000,
        ..need.config()
    };
    need.set_config(config).expect("the bounds are in order");
    need
}

#[test]
fn the_need_of_an_interval_is_known_when_the_sender_is_back() {
    let mut clocked = Clocked::new(need_with_room());
    clocked.steady(12);
    assert_eq!(
        clocked.limit(),
        20_000,
        "12,500 are needed, the bound is above"
    );

    // It has room for 5,000 more and is away while 11,000 finish and for 20 us more.
    clocked.complete(60 * US, 6_000, false);
    clocked.complete(20 * US, 5_000, false);
    clocked.now_ns += 20 * US;
    clocked.refill_and_want_more(27_500);
    clocked.complete(100 * US, 12_500, false);
    // What finished in the interval and in the absence, and 9/8 of what 125 bytes/us are in 20 us.
    assert_eq!(clocked.limit(), 12_500 + 11_000 + 2_812);
}

#[test]
fn a_sender_without_room_is_not_late() {
    let mut clocked = Clocked::new(need_with_room());
    clocked.steady(12);
    // A chain of rounds whose first one leaves no room, and an interval later there is some.
    clocked.refill_and_want_more(60_000);
    clocked.complete(100 * US, 12_500, false);
    clocked.complete(400 * US, 42_500, true);
    clocked.refill_and_want_more(27_500);
    clocked.complete(3 * US, 375, false);
    clocked.refill_and_want_more(27_500);
    clocked.complete(100 * US, 12_500, false);
    clocked.steady(1);
    assert_eq!(
        clocked.limit(),
        42_875,
        "what finished in 403 us, and no latency"
    );
}

#[test]
fn nobody_refused_no_need() {
    let mut clocked = Clocked::new(Need::default());
    for _ in 0..20 {
        clocked
            .ruled
            .queued(50_000, clocked.now_ns)
            .expect("countable");
        clocked.complete(100 * US, 50_000, false);
    }
    assert_eq!(clocked.limit(), 0);
}

#[test]
fn a_chain_of_rounds_is_one_interval_and_a_round_of_nothing_can_end_it() {
    let mut clocked = Clocked::new(Need::default());
    for _ in 0..12 {
        clocked.refill_and_want_more(100_000);
        clocked.complete(90 * US, 5_000, true);
        clocked.complete(10 * US, 7_500, false);
    }
    assert_eq!(clocked.limit(), 12_500);
    for _ in 0..12 {
        clocked.refill_and_want_more(100_000);
        clocked.complete(100 * US, 12_500, true);
        clocked.complete(0, 0, false);
    }
    for _ in 0..2 {
        clocked.refill_and_want_more(100_000);
        clocked.complete(100 * US, 12_500, false);
    }
    assert_eq!(clocked.limit(), 12_500, "not two intervals in one");
}

/// Fills up to `bytes` in flight with objects of 250 bytes, and wants more.
fn refill_in_small_objects<L: Limit>(clocked: &mut Clocked<L>, bytes: u32) {
    while clocked.ruled.in_flight() < bytes {
        clocked
            .ruled
            .queued(250, clocked.now_ns)
            .expect("countable");
    }
    clocked.ruled.refused();
}

/// Chains of two rounds 20 us apart, in which 15,000 bytes finish in 120 us at 1 Gbit/s; the sender
/// refills after the first, or not.
fn limit_of_two_rounds(refills: bool) -> u32 {
    let mut need = Need::default();
    let config = Config {
        // Forgets what it took for needed while the rate was not known.
        hold_time_ns: 1_000 * US,
        ..need.config()
    };
    need.set_config(config).expect("the bounds are in order");
    let mut clocked = Clocked::new(need);
    for _ in 0..40 {
        refill_in_small_objects(&mut clocked, 50_000);
        clocked.complete(100 * US, 6_000, true);
        if refills {
            refill_in_small_objects(&mut clocked, 50_000);
        }
        clocked.complete(20 * US, 9_000, false);
    }
    clocked.limit()
}

#[test]
fn a_round_that_is_refilled_before_the_next_one_counts_as_far_as_it_was_worked_off_by_then() {
    assert_eq!(limit_of_two_rounds(false), 15_000);
    // 15/16 of what the rate does in 20 us came after the refill, but for an object.
    let later_bytes = 2_500 - 2_500 / 16 - 250;
    let limit = limit_of_two_rounds(true);
    assert!(limit.abs_diff(15_000 - later_bytes) <= 1, "{limit}");
}

/// Chains whose first round was refilled too late: the device had finished all it had, and idled.
#[test]
fn a_device_that_ran_dry_before_a_refill_in_a_chain_asks_for_more() {
    let mut clocked = Clocked::new(Need::default());
    let mut limit = 0;
    for chain in 0..40 {
        refill_in_small_objects(&mut clocked, 15_000);
        clocked.complete(100 * US, 6_000, true);
        refill_in_small_objects(&mut clocked, 15_000);
        if chain < 39 {
            clocked.complete(20 * US, 9_000, false);
        } else {
            limit = clocked.limit();
            // All that it had at the refill, and what it did since, and no more.
            clocked.complete(20 * US, 9_000 + 2_500, false);
        }
    }
    assert!(
        clocked.limit() > 15_000,
        "{} after {limit}",
        clocked.limit()
    );
}

/// 1 ms intervals at 1 Gbit/s, without running dry.
fn slow_intervals<L: Limit>(clocked: &mut Clocked<L>, count: u32) {
    for _ in 0..count {
        clocked.refill_and_want_more(250_000);
        clocked.complete(1_000 * US, 125_000, false);
    }
}

#[test]
fn a_pause_is_no_news_of_the_device() {
    let mut clocked = Clocked::new(Need::default());
    slow_intervals(&mut clocked, 12);
    clocked.go_idle();
    clocked.now_ns += 10 * SECOND_NS;
    clocked.steady(3);
    assert_eq!(clocked.limit(), 125_000);
}

/// Refused intervals until the limit of slow intervals is given up, after so much light traffic.
fn intervals_until_smaller(light_rounds: u32) -> usize {
    let mut clocked = Clocked::new(Ladder::default());
    slow_intervals(&mut clocked, 50);
    let limit = clocked.limit();
    assert!((125_000..=131_072).contains(&limit), "{limit}");
    clocked.go_idle();
    for _ in 0..light_rounds {
        clocked
            .ruled
            .queued(1_000_000, clocked.now_ns)
            .expect("countable");
        clocked.complete(10_000 * US, 1_000_000, false);
        assert!(clocked.limit() <= limit, "nobody was refused");
    }
    let smaller = |_: &usize| {
        clocked.steady(1);
        clocked.limit() < 100_000
    };
    (1..).find(smaller).expect("debts are paid")
}

#[test]
fn light_traffic_pays_debts_and_moves_nothing() {
    assert!(intervals_until_smaller(0) > 50);
    assert!(intervals_until_smaller(100) < 10);
}

fn forgets<L: Limit>(limit: L) {
    let mut clocked = Clocked::new(limit);
    slow_intervals(&mut clocked, 50);
    assert!(clocked.limit() >= 125_000);
    clocked.ruled.reset(clocked.now_ns);
    assert_eq!((clocked.limit(), clocked.ruled.in_flight()), (0, 0));
    clocked.steady(3);
    assert!(clocked.limit() < 20_000, "{}", clocked.limit());
}

#[test]
fn a_reset_forgets_every_need() {
    forgets(Need::default());
    forgets(Ladder::default());
}

/// A device that says nothing for four seconds is stalled; no limit would have helped.
#[test]
fn a_stall_asks_for_a_tenth_of_a_second_at_most() {
    let mut clocked = Clocked::new(Need::default());
    slow_intervals(&mut clocked, 12);
    clocked.refill_and_want_more(250_000);
    clocked.complete(4 * SECOND_NS, 250_000, false);
    assert_eq!(clocked.limit(), 12_500_000);
}

#[test]
fn a_clock_that_stands_still_or_steps_back_moves_nothing_but_what_finished() {
    let mut clocked = Clocked::new(Need::default());
    clocked.now_ns = 5 * SECOND_NS;
    for _ in 0..20 {
        clocked.refill_and_want_more(27_500);
        clocked.now_ns -= 10 * US;
        clocked.complete(0, 12_500, false);
    }
    assert_eq!(clocked.limit(), 12_500);
}

/// A program on the sender's core: it takes `PACKET_NS` a packet and up to 64 at a time, then the sender
/// is back after `ROUND_NS`, in which nobody works.
mod program {
    use super::{Clocked, Ladder, Limit};
    use taut_path::limit::Fixed;

    const PACKET_NS: u64 = 101_000;

    /// Over the later half: the median of the limit, since some rounds are trials, and the share of the time in
    /// which somebody worked.
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
    fn the_rounds_of_a_program_are_as_long_as_what_they_lose_asks_for() {
        // The least limits, of all up to the 64 that it takes, with 99.9 % of what the best one does.
        for (round_ns, least) in [(1_000, 8), (8_000, 35)] {
            let best = run(Fixed::bytes(64), round_ns, false, 100).1;
            for each in [false, true] {
                let (limit, share) = run(Ladder::default(), round_ns, each, 40_000);
                assert!(share >= 0.999 * best, "{share} of {best}");
                assert!(limit < (least + 1) * 5 / 4, "{limit}, not {least}");
            }
        }
    }

    #[test]
    fn a_round_that_costs_much_is_nearly_as_long_as_it_can_be() {
        let best = run(Fixed::bytes(64), 100_000, false, 100).1;
        for each in [false, true] {
            let (limit, share) = run(Ladder::default(), 100_000, each, 10_000);
            assert!(share >= 0.999 * best, "{share} of {best}");
            assert!(limit >= 55, "{limit}");
        }
    }
}
