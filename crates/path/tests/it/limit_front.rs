//! What the front end of the rules that size by need makes of single intervals.

use taut_path::limit::{Done, Ladder, Limit, LimitCompleter, LimitSender, Need};

const US: u64 = 1_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Both halves and a clock.
struct Halves<L: Limit> {
    sender: L::Sender,
    completer: L::Completer,
    now_ns: u64,
}

impl<L: Limit> Halves<L> {
    fn new(limit: L) -> Self {
        let (sender, completer) = limit.split(0).expect("valid settings");
        Self {
            sender,
            completer,
            now_ns: 0,
        }
    }

    /// Fills up to `bytes` in flight and wants more.
    fn refill_and_want_more(&mut self, bytes: u32) {
        let missing = bytes - self.sender.in_flight();
        self.sender.queued(missing, self.now_ns).expect("countable");
        self.sender.refused();
    }

    /// So much later `bytes` finish.
    fn complete(&mut self, after_ns: u64, bytes: u32, more: bool) {
        self.now_ns += after_ns;
        let done = Done { packets: 1, bytes };
        let completed = self.completer.completed(done, self.now_ns, more);
        completed.expect("in flight");
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
        self.sender.queued(1, self.now_ns).expect("countable");
        self.complete(1_000 * US, 1, false);
        let left = self.sender.in_flight();
        self.complete(1_000 * US, left, false);
    }

    fn limit(&self) -> u32 {
        self.completer.snapshot().limit
    }
}

fn need_with_room() -> Need {
    Need {
        min_limit: 20_000,
        ..Need::default()
    }
}

#[test]
fn the_need_of_an_interval_is_known_when_the_sender_is_back() {
    let mut halves = Halves::new(need_with_room());
    halves.steady(12);
    assert_eq!(
        halves.limit(),
        20_000,
        "12,500 are needed, the bound is above"
    );

    // It has room for 5,000 more and is away while 11,000 finish and for 20 us more.
    halves.complete(60 * US, 6_000, false);
    halves.complete(20 * US, 5_000, false);
    halves.now_ns += 20 * US;
    halves.refill_and_want_more(27_500);
    halves.complete(100 * US, 12_500, false);
    // What finished in the interval and in the absence, and 9/8 of what 125 bytes/us are in 20 us.
    assert_eq!(halves.limit(), 12_500 + 11_000 + 2_812);
}

#[test]
fn a_sender_without_room_is_not_late() {
    let mut halves = Halves::new(need_with_room());
    halves.steady(12);
    // A chain of rounds whose first one leaves no room, and an interval later there is some.
    halves.refill_and_want_more(60_000);
    halves.complete(100 * US, 12_500, false);
    halves.complete(400 * US, 42_500, true);
    halves.refill_and_want_more(27_500);
    halves.complete(3 * US, 375, false);
    halves.refill_and_want_more(27_500);
    halves.complete(100 * US, 12_500, false);
    halves.steady(1);
    assert_eq!(
        halves.limit(),
        42_875,
        "what finished in 403 us, and no latency"
    );
}

#[test]
fn nobody_refused_no_need() {
    let mut halves = Halves::new(Need::default());
    for _ in 0..20 {
        halves
            .sender
            .queued(50_000, halves.now_ns)
            .expect("countable");
        halves.complete(100 * US, 50_000, false);
    }
    assert_eq!(halves.limit(), 0);
}

#[test]
fn a_chain_of_rounds_is_one_interval_and_a_tick_can_end_it() {
    let mut halves = Halves::new(Need::default());
    for _ in 0..12 {
        halves.refill_and_want_more(100_000);
        halves.complete(90 * US, 5_000, true);
        halves.complete(10 * US, 7_500, false);
    }
    assert_eq!(halves.limit(), 12_500);
    for _ in 0..12 {
        halves.refill_and_want_more(100_000);
        halves.complete(100 * US, 12_500, true);
        halves
            .completer
            .tick(halves.now_ns)
            .expect("nothing finishes");
    }
    for _ in 0..2 {
        halves.refill_and_want_more(100_000);
        halves.complete(100 * US, 12_500, false);
    }
    assert_eq!(halves.limit(), 12_500, "not two intervals in one");
}

/// 1 ms intervals at 1 Gbit/s, without running dry.
fn slow_intervals<L: Limit>(halves: &mut Halves<L>, count: u32) {
    for _ in 0..count {
        halves.refill_and_want_more(250_000);
        halves.complete(1_000 * US, 125_000, false);
    }
}

#[test]
fn a_pause_is_no_news_of_the_device() {
    let mut halves = Halves::new(Need::default());
    slow_intervals(&mut halves, 12);
    halves.go_idle();
    halves.now_ns += 10 * SECOND_NS;
    halves.steady(3);
    assert_eq!(halves.limit(), 125_000);
}

/// Refused intervals until the limit of slow intervals is given up, after so much light traffic.
fn intervals_until_smaller(light_rounds: u32) -> usize {
    let mut halves = Halves::new(Ladder::default());
    slow_intervals(&mut halves, 50);
    let limit = halves.limit();
    assert!((125_000..=131_072).contains(&limit), "{limit}");
    halves.go_idle();
    for _ in 0..light_rounds {
        halves
            .sender
            .queued(1_000_000, halves.now_ns)
            .expect("countable");
        halves.complete(10_000 * US, 1_000_000, false);
        assert!(halves.limit() <= limit, "nobody was refused");
    }
    let smaller = |_: &usize| {
        halves.steady(1);
        halves.limit() < 100_000
    };
    (1..).find(smaller).expect("debts are paid")
}

#[test]
fn light_traffic_pays_debts_and_moves_nothing() {
    assert!(intervals_until_smaller(0) > 50);
    assert!(intervals_until_smaller(100) < 10);
}

fn forgets<L: Limit>(limit: L) {
    let mut halves = Halves::new(limit);
    slow_intervals(&mut halves, 50);
    assert!(halves.limit() >= 125_000);
    L::reset(&mut halves.sender, &mut halves.completer, halves.now_ns).expect("one queue");
    assert_eq!((halves.limit(), halves.sender.in_flight()), (0, 0));
    halves.steady(3);
    assert!(halves.limit() < 20_000, "{}", halves.limit());
}

#[test]
fn a_reset_forgets_every_need() {
    forgets(Need::default());
    forgets(Ladder::default());
}

/// A device that says nothing for four seconds is stalled; no limit would have helped.
#[test]
fn a_stall_asks_for_a_tenth_of_a_second_at_most() {
    let mut halves = Halves::new(Need::default());
    slow_intervals(&mut halves, 12);
    halves.refill_and_want_more(250_000);
    halves.complete(4 * SECOND_NS, 250_000, false);
    assert_eq!(halves.limit(), 12_500_000);
}

#[test]
fn a_clock_that_stands_still_or_steps_back_moves_nothing_but_what_finished() {
    let mut halves = Halves::new(Need::default());
    halves.now_ns = 5 * SECOND_NS;
    for _ in 0..20 {
        halves.refill_and_want_more(27_500);
        halves.now_ns -= 10 * US;
        halves.complete(0, 12_500, false);
    }
    assert_eq!(halves.limit(), 12_500);
}
