//! Stall detection from totals: no stall is missed, and an age is overstated by an eighth of the
//! threshold and one completion interval at most.

use std::collections::VecDeque;

use proptest::prelude::*;
use taut_dql::Stall;
use taut_dql::stall::{DEFAULT_THRESHOLD_NS, FifoStallDetector};

const MS: u64 = 1_000_000;

/// The detector, its input and the time at which each object was queued.
struct Watched {
    detector: FifoStallDetector,
    objects: VecDeque<(u32, u64)>,
    num_queued: u32,
    num_completed: u32,
    burst_start_ns: u64,
    last_completion_ns: u64,
    longest_interval_ns: u64,
}

impl Watched {
    fn new(threshold_ns: u64, start: u32) -> Self {
        Self {
            detector: FifoStallDetector::new(threshold_ns),
            objects: VecDeque::new(),
            num_queued: start,
            num_completed: start,
            burst_start_ns: 0,
            last_completion_ns: 0,
            longest_interval_ns: 0,
        }
    }

    fn in_flight(&self) -> u32 {
        self.num_queued.wrapping_sub(self.num_completed)
    }

    fn queue(&mut self, units: u32, now_ns: u64) {
        if units == 0 {
            return;
        }
        if self.in_flight() == 0 {
            self.burst_start_ns = now_ns;
            self.last_completion_ns = now_ns;
        }
        self.num_queued = self.num_queued.wrapping_add(units);
        self.objects.push_back((units, now_ns));
    }

    fn complete(&mut self, units: u32, now_ns: u64) {
        let mut left = units;
        while left > 0 {
            let (oldest, _) = self.objects.front_mut().expect("an object in flight");
            let part = left.min(*oldest);
            *oldest -= part;
            left -= part;
            if *oldest == 0 {
                self.objects.pop_front();
            }
        }
        self.num_completed = self.num_completed.wrapping_add(units);
        let interval_ns = now_ns - self.last_completion_ns;
        self.longest_interval_ns = self.longest_interval_ns.max(interval_ns);
        self.last_completion_ns = now_ns;
        let (queued, completed) = (self.num_queued, self.num_completed);
        self.detector.completed(queued, completed, now_ns);
    }

    fn true_age_ns(&self, now_ns: u64) -> u64 {
        let oldest = self.objects.front();
        oldest.map_or(0, |(_, queued_ns)| now_ns - queued_ns)
    }

    fn check(&mut self, now_ns: u64) -> Option<Stall> {
        let (queued, completed) = (self.num_queued, self.num_completed);
        let burst_ns = self.burst_start_ns;
        self.detector.check(queued, completed, burst_ns, now_ns)
    }
}

#[test]
fn stopped_device_is_found_without_any_completion() {
    let mut watched = Watched::new(100 * MS, 0);
    watched.queue(1514, 7 * MS);
    watched.queue(1514, 50 * MS);
    assert_eq!(
        watched.check(107 * MS),
        None,
        "not older than the threshold"
    );
    let stall = Stall {
        age_ns: 100 * MS + 1,
        since_ns: 7 * MS,
    };
    assert_eq!(watched.check(107 * MS + 1), Some(stall));
    let detector = &watched.detector;
    assert_eq!((detector.count(), detector.longest_ns()), (1, 100 * MS + 1));
    assert_eq!(detector.last_stall_ns(), 107 * MS + 1);
}

#[test]
fn empty_queue_is_never_stalled() {
    let mut watched = Watched::new(MS, 0);
    assert_eq!(watched.check(1000 * MS), None);
    watched.queue(10, 2000 * MS);
    watched.complete(10, 2001 * MS);
    assert_eq!(watched.check(9000 * MS), None);
    assert_eq!(watched.detector.count(), 0);
}

#[test]
fn burst_after_an_idle_time_has_age_zero() {
    let mut watched = Watched::new(100 * MS, 0);
    watched.queue(10, 0);
    watched.complete(10, MS);
    watched.queue(10, 5000 * MS);
    assert_eq!(watched.check(5100 * MS), None);
    assert_eq!(
        watched.check(5100 * MS + 1).map(|it| it.age_ns),
        Some(100 * MS + 1)
    );
}

/// Something completes in each interval, while a large backlog stays in front of the new units: the
/// time since the last completion stays short, and the age grows.
#[test]
fn backlog_stalls_although_units_complete() {
    let interval_ns = 10 * MS;
    let mut watched = Watched::new(100 * MS, 0);
    watched.queue(1_000_000, 0);
    for interval in 1..=100 {
        let now_ns = interval * interval_ns;
        watched.queue(100, now_ns - 1);
        watched.complete(100, now_ns);
        let found = watched.check(now_ns).map(|stall| stall.age_ns);
        assert_eq!(found, (now_ns > 100 * MS).then_some(now_ns));
    }
    assert_eq!(watched.longest_interval_ns, interval_ns);
    assert_eq!(watched.detector.count(), 1);
}

#[test]
fn stall_counts_once_until_it_ends() {
    let mut watched = Watched::new(10, 0);
    for (stall, start_ns) in [(1, 0), (2, 1000)] {
        watched.queue(100, start_ns);
        for now_ns in [start_ns + 11, start_ns + 12, start_ns + 50] {
            assert!(watched.check(now_ns).is_some());
            assert_eq!(watched.detector.count(), stall);
        }
        watched.complete(100, start_ns + 60);
        assert_eq!(watched.check(start_ns + 61), None);
    }
    let detector = &watched.detector;
    assert_eq!(
        (detector.longest_ns(), detector.last_stall_ns()),
        (50, 1050)
    );
}

#[test]
fn completion_ends_a_stall_between_two_checks() {
    let mut watched = Watched::new(160, 0);
    watched.queue(100, 0);
    assert!(watched.check(200).is_some());
    watched.complete(1, 201);
    watched.complete(99, 202);
    watched.queue(100, 203);
    assert!(watched.check(400).is_some());
    assert_eq!(watched.detector.count(), 2);
}

#[test]
fn threshold_of_zero_detects_nothing() {
    let mut watched = Watched::new(0, 0);
    watched.queue(1, 0);
    watched.complete(0, 5);
    assert_eq!(watched.check(u64::MAX), None);
}

#[test]
fn reset_forgets_ages_and_keeps_counts() {
    let mut watched = Watched::new(10, 0);
    watched.queue(5000, 0);
    watched.complete(10, 5);
    assert!(watched.check(100).is_some());
    watched.detector.reset();
    let mut watched = Watched {
        detector: watched.detector,
        ..Watched::new(10, 77)
    };
    watched.queue(1, 200);
    assert_eq!(watched.check(205), None);
    assert!(watched.check(300).is_some());
    assert_eq!(watched.detector.count(), 2);
}

/// The units that were queued during a stall complete, and it ends as one stall.
#[test]
fn long_stall_ends_when_its_backlog_completes() {
    let (threshold_ns, interval_ns) = (1000, 10);
    for stalled_for in [2, 5, 30, 200] {
        let mut watched = Watched::new(threshold_ns, 0);
        let mut now_ns = 0;
        watched.queue(1_000_000, now_ns);
        while now_ns < stalled_for * threshold_ns {
            now_ns += interval_ns;
            watched.queue(100, now_ns);
            watched.complete(1, now_ns);
            assert_eq!(watched.check(now_ns).is_some(), now_ns > threshold_ns);
        }
        while watched.in_flight() > 0 {
            let oldest = watched.objects.front().map_or(0, |(units, _)| *units);
            watched.complete(oldest, now_ns);
            let _ = watched.check(now_ns);
        }
        assert_eq!(watched.check(now_ns), None);
        assert_eq!(watched.detector.count(), 1);
        watched.queue(1, now_ns + 1);
        assert_eq!(watched.check(now_ns + threshold_ns), None, "a new burst");
    }
}

/// Totals are compared through their wrapped difference.
#[test]
fn ages_follow_totals_that_wrap_often() {
    let mut watched = Watched::new(16_000, 0);
    watched.queue(1 << 28, 1);
    for now_ns in 2..100_000 {
        watched.queue(1 << 28, now_ns);
        watched.complete(1 << 28, now_ns);
        assert_eq!(watched.check(now_ns), None);
    }
}

#[test]
fn default_threshold_is_one_second() {
    assert_eq!(DEFAULT_THRESHOLD_NS, 1000 * MS);
}

/// A deep queue with a completion for each unit.
#[test]
fn deep_queue_is_not_a_stall() {
    for (depth, threshold_ns) in [(500_u64, 1300), (500, 10_000), (40, 100), (7800, 9000)] {
        let mut watched = Watched::new(threshold_ns, 0);
        for now_ns in 1..20_000 {
            watched.queue(1, now_ns);
            if now_ns > depth {
                watched.complete(1, now_ns);
            }
            // The first interval is as long as the queue is deep.
            let stall = watched.check(now_ns);
            assert!(
                stall.is_none() || depth > threshold_ns / 2,
                "{stall:?} at {now_ns}"
            );
            assert!(
                stall.is_none() || now_ns <= 2 * depth + 1,
                "{stall:?} at {now_ns}"
            );
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Queue(u32),
    CompleteShare(u32),
    Wait(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..5000_u32).prop_map(Operation::Queue),
        3 => (0..=16_u32).prop_map(Operation::CompleteShare),
        3 => (0..2000_u64).prop_map(Operation::Wait),
    ]
}

/// Plays operations and checks after each. After a stall, ages are precise again once nothing is in
/// flight.
fn play(start: u32, threshold_ns: u64, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut watched = Watched::new(threshold_ns, start);
    let (mut now_ns, mut is_precise) = (1, true);
    for operation in operations {
        match *operation {
            Operation::Queue(units) => watched.queue(units, now_ns),
            Operation::CompleteShare(share) => {
                let units = u64::from(watched.in_flight()) * u64::from(share) / 16;
                watched.complete(units as u32, now_ns);
            }
            Operation::Wait(ns) => now_ns += ns,
        }
        let true_age_ns = watched.true_age_ns(now_ns);
        let stall = watched.check(now_ns);
        if true_age_ns > threshold_ns {
            prop_assert!(stall.is_some(), "a stall of {} was missed", true_age_ns);
        }
        if let Some(stall) = stall {
            prop_assert!(stall.age_ns > threshold_ns && stall.age_ns >= true_age_ns);
            let since_last_ns = now_ns - watched.last_completion_ns;
            let interval_ns = watched.longest_interval_ns.max(since_last_ns);
            let max_ns = true_age_ns + threshold_ns / 8 + interval_ns + 1;
            prop_assert!(
                !is_precise || stall.age_ns <= max_ns,
                "{stall:?} is above {max_ns} (true: {true_age_ns})"
            );
            is_precise = false;
        }
        is_precise |= watched.in_flight() == 0;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn ages_are_as_precise_as_documented(
        start in prop_oneof![Just(0), any::<u32>(), u32::MAX - 20_000..=u32::MAX],
        threshold_ns in prop_oneof![1..100_u64, 100..200_000_u64, 5000..20_000_u64],
        operations in prop::collection::vec(operation(), 1..600),
    ) {
        play(start, threshold_ns, &operations)?;
    }
}
