//! The age of the oldest unit: never understated, and too old by one completion interval and a
//! sixteenth of the threshold at most.

use std::collections::VecDeque;

use proptest::prelude::*;
use taut_dql::{Stall, StallWatch};

const MS: u64 = 1_000_000;

/// What a sender knows, with a clock that the product is not given: for each object when it was
/// queued.
#[derive(Default)]
struct Ledger {
    objects: VecDeque<(u32, u64)>,
    num_queued: u32,
    num_completed: u32,
    burst_start_ns: u64,
    /// The interval before each completion, latest last.
    last_completion_ns: u64,
    longest_interval_ns: u64,
    oldest_ever_ns: u64,
}

impl Ledger {
    fn starting_at(total: u32) -> Ledger {
        Ledger {
            num_queued: total,
            num_completed: total,
            ..Ledger::default()
        }
    }

    fn in_flight(&self) -> u32 {
        self.num_queued.wrapping_sub(self.num_completed)
    }

    fn queue(&mut self, units: u32, now_ns: u64) {
        if self.in_flight() == 0 {
            self.burst_start_ns = now_ns;
        }
        self.num_queued = self.num_queued.wrapping_add(units);
        self.objects.push_back((units, now_ns));
    }

    fn complete(&mut self, units: u32, now_ns: u64, watch: &mut StallWatch) {
        self.note_age(now_ns);
        let mut left = units;
        while left > 0 {
            let (oldest, _) = self.objects.front_mut().expect("an object in flight");
            let part = left.min(*oldest);
            *oldest -= part;
            left -= part;
            self.drop_empty();
        }
        self.num_completed = self.num_completed.wrapping_add(units);
        let interval_ns = now_ns - self.last_completion_ns;
        self.longest_interval_ns = self.longest_interval_ns.max(interval_ns);
        self.last_completion_ns = now_ns;
        watch.completed(self.num_queued, self.num_completed, now_ns);
    }

    fn drop_empty(&mut self) {
        while self.objects.front().is_some_and(|(units, _)| *units == 0) {
            self.objects.pop_front();
        }
    }

    /// The truth.
    fn age_ns(&mut self, now_ns: u64) -> u64 {
        self.drop_empty();
        self.objects
            .front()
            .map_or(0, |(_, queued_ns)| now_ns - queued_ns)
    }

    fn note_age(&mut self, now_ns: u64) {
        self.oldest_ever_ns = self.oldest_ever_ns.max(self.age_ns(now_ns));
    }

    fn watched_age_ns(&self, watch: &StallWatch, now_ns: u64) -> u64 {
        watch.age_ns(
            self.num_queued,
            self.num_completed,
            self.burst_start_ns,
            now_ns,
        )
    }

    fn check(&self, watch: &mut StallWatch, now_ns: u64) -> Option<Stall> {
        watch.check(
            self.num_queued,
            self.num_completed,
            self.burst_start_ns,
            now_ns,
        )
    }
}

#[test]
fn a_device_that_stops_is_found_without_any_completion() {
    let (mut watch, mut ledger) = (StallWatch::new(100 * MS), Ledger::default());
    ledger.queue(1514, 7 * MS);
    ledger.queue(1514, 50 * MS);
    assert_eq!(
        ledger.check(&mut watch, 107 * MS),
        None,
        "as old as the threshold is not older"
    );
    let stall = Stall {
        age_ns: 100 * MS + 1,
        since_ns: 7 * MS,
    };
    assert_eq!(ledger.check(&mut watch, 107 * MS + 1), Some(stall));
    let counters = (watch.count(), watch.longest_ns(), watch.last_at_ns());
    assert_eq!(counters, (1, 100 * MS + 1, 107 * MS + 1));
}

#[test]
fn an_empty_queue_is_never_stalled() {
    let (mut watch, mut ledger) = (StallWatch::new(MS), Ledger::default());
    assert_eq!(ledger.check(&mut watch, 1000 * MS), None);
    ledger.queue(10, 2000 * MS);
    ledger.complete(10, 2001 * MS, &mut watch);
    assert_eq!(ledger.check(&mut watch, 9000 * MS), None);
    assert_eq!(
        (ledger.watched_age_ns(&watch, 9000 * MS), watch.count()),
        (0, 0)
    );
}

#[test]
fn a_burst_after_an_idle_time_starts_young() {
    let (mut watch, mut ledger) = (StallWatch::new(100 * MS), Ledger::default());
    ledger.queue(10, 0);
    ledger.complete(10, MS, &mut watch);
    ledger.queue(10, 5000 * MS);
    assert_eq!(ledger.watched_age_ns(&watch, 5003 * MS), 3 * MS);
    assert_eq!(ledger.check(&mut watch, 5003 * MS), None);
}

/// Something completes in each interval, but a large backlog stays before the new units: the time
/// since the last completion never gets long, and the age grows.
#[test]
fn the_age_grows_while_new_units_complete_and_old_ones_stay() {
    let interval_ns = 10 * MS;
    let (mut watch, mut ledger) = (StallWatch::new(100 * MS), Ledger::default());
    ledger.queue(1_000_000, 0);
    let (mut ages, mut longest_silence_ns) = (Vec::new(), 0);
    for interval in 1..=100 {
        let now_ns = interval * interval_ns;
        ledger.queue(100, now_ns - 1);
        longest_silence_ns = longest_silence_ns.max(now_ns - ledger.last_completion_ns);
        ledger.complete(100, now_ns, &mut watch);
        ages.push(ledger.watched_age_ns(&watch, now_ns));
        let found = ledger.check(&mut watch, now_ns).map(|stall| stall.age_ns);
        assert_eq!(found, (now_ns > 100 * MS).then_some(now_ns));
    }
    assert!(
        ages.is_sorted_by(|before, after| before < after),
        "{ages:?}"
    );
    assert_eq!(ages.last(), Some(&(100 * interval_ns)));
    // A watch for the time since the last completion would have found nothing at all.
    assert!(longest_silence_ns < watch.threshold_ns());
    assert_eq!(watch.count(), 1);
}

#[test]
fn a_stall_counts_once_until_it_is_over() {
    let (mut watch, mut ledger) = (StallWatch::new(10), Ledger::default());
    for (stall, start_ns) in [(1, 0), (2, 1000)] {
        ledger.queue(100, start_ns);
        for now_ns in [start_ns + 11, start_ns + 12, start_ns + 50] {
            assert!(ledger.check(&mut watch, now_ns).is_some());
            assert_eq!(watch.count(), stall);
        }
        ledger.complete(100, start_ns + 60, &mut watch);
        assert_eq!(ledger.check(&mut watch, start_ns + 61), None);
    }
    assert_eq!((watch.longest_ns(), watch.last_at_ns()), (50, 1050));
}

#[test]
fn a_stall_can_end_and_begin_between_two_checks() {
    let (mut watch, mut ledger) = (StallWatch::new(10), Ledger::default());
    ledger.queue(100, 0);
    assert!(ledger.check(&mut watch, 20).is_some());
    ledger.complete(100, 21, &mut watch);
    ledger.queue(100, 22);
    assert!(ledger.check(&mut watch, 50).is_some());
    assert_eq!(watch.count(), 2);
}

#[test]
fn zero_turns_it_off_and_ages_stay_right() {
    let (mut watch, mut ledger) = (StallWatch::new(0), Ledger::default());
    ledger.queue(1, 0);
    assert_eq!(ledger.check(&mut watch, u64::MAX), None);
    assert_eq!(ledger.watched_age_ns(&watch, 500), 500);
    watch.set_threshold_ns(499);
    assert!(ledger.check(&mut watch, 500).is_some());
    watch.set_threshold_ns(500);
    assert!(ledger.check(&mut watch, 500).is_none());
}

#[test]
fn reset_forgets_the_marks_and_keeps_the_counts() {
    let (mut watch, mut ledger) = (StallWatch::new(10), Ledger::default());
    ledger.queue(5000, 0);
    ledger.complete(10, 5, &mut watch);
    assert!(ledger.check(&mut watch, 100).is_some());
    watch.reset();
    let mut ledger = Ledger::default();
    ledger.queue(1, 200);
    assert_eq!((ledger.watched_age_ns(&watch, 205), watch.count()), (5, 1));
    assert_eq!(ledger.check(&mut watch, 205), None);
    assert!(ledger.check(&mut watch, 300).is_some());
    assert_eq!(watch.count(), 2);
}

#[test]
fn a_mark_of_the_same_total_replaces_the_one_before() {
    let (mut watch, mut ledger) = (StallWatch::new(10), Ledger::default());
    ledger.queue(100, 0);
    for now_ns in 1..=90 {
        ledger.complete(1, now_ns, &mut watch);
    }
    ledger.queue(100, 95);
    ledger.complete(10, 100, &mut watch);
    assert_eq!(
        ledger.watched_age_ns(&watch, 120),
        30,
        "queued after the mark at 90"
    );
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

/// How much too old an age may be, as `StallWatch` documents it.
fn error_ns(ledger: &Ledger, threshold_ns: u64, true_age_ns: u64) -> u64 {
    let near_ns = one_interval_ns(ledger) + threshold_ns.div_ceil(16);
    if true_age_ns <= threshold_ns {
        return near_ns;
    }
    let times = ledger.oldest_ever_ns as f64 / threshold_ns as f64;
    let far_ns = true_age_ns as f64 * (times.cbrt() - 1.0);
    near_ns.max(far_ns.ceil() as u64)
}

/// Plays operations, asks after each, and returns how many completions there were.
fn play(start: u32, threshold_ns: u64, operations: &[Operation]) -> Result<(), TestCaseError> {
    let (mut watch, mut ledger) = (StallWatch::new(threshold_ns), Ledger::starting_at(start));
    // Totals start at 0 in a queue; here the watch is told of the start like of any completion.
    watch.completed(start, start, 0);
    let mut now_ns = 1;
    for operation in operations {
        match *operation {
            Operation::Queue(units) => ledger.queue(units, now_ns),
            Operation::CompleteShare(share) => {
                let units = u64::from(ledger.in_flight()) * u64::from(share) / 16;
                ledger.complete(units as u32, now_ns, &mut watch);
            }
            Operation::Wait(ns) => now_ns += ns,
        }
        ledger.note_age(now_ns);
        let true_age_ns = ledger.age_ns(now_ns);
        let age_ns = ledger.watched_age_ns(&watch, now_ns);
        prop_assert!(age_ns >= true_age_ns, "{age_ns} understates {true_age_ns}");
        let most_ns = true_age_ns + error_ns(&ledger, threshold_ns, true_age_ns);
        prop_assert!(
            age_ns <= most_ns,
            "{age_ns} is above {most_ns} (true: {true_age_ns})"
        );
        let stall = ledger.check(&mut watch, now_ns);
        prop_assert_eq!(
            stall.map(|stall| stall.age_ns),
            (age_ns > threshold_ns).then_some(age_ns)
        );
        let interval_ns = one_interval_ns(&ledger);
        if interval_ns <= threshold_ns / 8 && true_age_ns < threshold_ns * 4 / 5 {
            prop_assert!(stall.is_none(), "a false stall of {true_age_ns}");
        }
        if true_age_ns > threshold_ns {
            prop_assert!(stall.is_some(), "a stall of {true_age_ns} was missed");
        }
    }
    Ok(())
}

/// The longest time between two completions, the one that runs included.
fn one_interval_ns(ledger: &Ledger) -> u64 {
    let since_last_ns = ledger
        .objects
        .back()
        .map_or(0, |(_, at)| at.saturating_sub(ledger.last_completion_ns));
    ledger.longest_interval_ns.max(since_last_ns)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn ages_are_as_exact_as_documented(
        start in prop_oneof![Just(0), any::<u32>(), u32::MAX - 20_000..=u32::MAX],
        threshold_ns in prop_oneof![1..100_u64, 100..200_000_u64, 5000..20_000_u64],
        operations in prop::collection::vec(operation(), 1..600),
    ) {
        play(start, threshold_ns, &operations)?;
    }
}

/// A deep queue with a completion for each packet: hundreds of marks would be needed.
#[test]
fn a_deep_queue_reports_no_stall_below_four_fifths_of_the_threshold() {
    for (depth, threshold_ns) in [(500_u64, 1300), (500, 10_000), (40, 100), (4000, 9000)] {
        let (mut watch, mut ledger) = (StallWatch::new(threshold_ns), Ledger::default());
        let mut merged_ns = 0;
        for now_ns in 1..20_000 {
            ledger.queue(1, now_ns);
            if now_ns > depth {
                ledger.complete(1, now_ns, &mut watch);
            }
            let true_age_ns = ledger.age_ns(now_ns);
            let age_ns = ledger.watched_age_ns(&watch, now_ns);
            assert!(age_ns >= true_age_ns);
            // The first interval is as long as the queue is deep: only later ones are of one ns.
            if now_ns > 2 * depth {
                merged_ns = merged_ns.max(age_ns - true_age_ns);
            }
            let stall = ledger.check(&mut watch, now_ns);
            let one_interval_older_ns = true_age_ns + ledger.longest_interval_ns;
            let old_enough =
                true_age_ns > threshold_ns * 4 / 5 || one_interval_older_ns > threshold_ns;
            assert!(stall.is_none() || old_enough, "{stall:?} of {true_age_ns}");
        }
        assert!(merged_ns > 1, "the marks of a deep queue have to be merged");
    }
}

/// Many times more marks than are kept; then nearly everything comes back at once. What is left is
/// young, and has to be known as young.
#[test]
fn after_a_long_stall_young_units_are_known_as_young() {
    let (threshold_ns, interval_ns) = (1000, 10);
    for stalled_for in [2, 5, 30, 200] {
        let (mut watch, mut ledger) = (StallWatch::new(threshold_ns), Ledger::default());
        let mut now_ns = 0;
        ledger.queue(1_000_000, now_ns);
        while now_ns < stalled_for * threshold_ns {
            now_ns += interval_ns;
            ledger.queue(100, now_ns);
            ledger.complete(1, now_ns, &mut watch);
            let (age_ns, true_age_ns) =
                (ledger.watched_age_ns(&watch, now_ns), ledger.age_ns(now_ns));
            assert!(age_ns >= true_age_ns);
            assert_eq!(
                ledger.check(&mut watch, now_ns).is_some(),
                now_ns > threshold_ns
            );
        }
        let mut left_at_last = u64::MAX;
        while ledger.in_flight() > 0 {
            let oldest = ledger.objects.front().map_or(0, |(units, _)| *units);
            ledger.complete(oldest, now_ns, &mut watch);
            let true_age_ns = ledger.age_ns(now_ns);
            let age_ns = ledger.watched_age_ns(&watch, now_ns);
            let most_ns = true_age_ns + error_ns(&ledger, threshold_ns, true_age_ns);
            assert!((true_age_ns..=most_ns).contains(&age_ns));
            let stall = ledger.check(&mut watch, now_ns);
            assert!(stall.is_none() || true_age_ns >= threshold_ns * 4 / 5);
            assert!(true_age_ns <= left_at_last);
            left_at_last = true_age_ns;
        }
        assert_eq!(watch.count(), 1);
    }
}

#[test]
fn the_default_threshold_is_one_second() {
    assert_eq!(StallWatch::DEFAULT_THRESHOLD_NS, 1000 * MS);
}

/// Totals are compared through their wrapped difference, so a mark that is passed must not stay
/// until the totals are 2^31 further.
#[test]
fn a_mark_is_dropped_before_the_totals_have_gone_half_way_round() {
    let (mut watch, mut ledger) = (StallWatch::new(16_000), Ledger::default());
    ledger.queue(1 << 28, 1);
    for now_ns in 2..10_000 {
        ledger.queue(1 << 28, now_ns);
        ledger.complete(1 << 28, now_ns, &mut watch);
        let age_ns = ledger.watched_age_ns(&watch, now_ns + 1);
        assert!(age_ns <= 1000 + 2, "{age_ns} for a unit that is 1 ns old");
    }
}

#[test]
fn any_completion_can_end_a_stall() {
    let (mut watch, mut ledger) = (StallWatch::new(160), Ledger::default());
    ledger.queue(100, 0);
    assert!(ledger.check(&mut watch, 200).is_some());
    ledger.complete(1, 201, &mut watch);
    ledger.complete(99, 202, &mut watch);
    ledger.queue(100, 203);
    assert!(ledger.check(&mut watch, 400).is_some());
    assert_eq!(watch.count(), 2);
}
