//! Failed sends, level devices, empty polls, and ledgers that are wrong.

use taut_dql::{Config, Dql, Error, MAX_IN_FLIGHT, Shared, Snapshot, split};

use crate::queue::{Halves, Queue};

fn with_limit<Q: Queue>(limit: u32) -> Q {
    let config = Config {
        limit,
        ..Config::default()
    };
    Q::fresh(config, 0).expect("a valid configuration")
}

fn queue_all<Q: Queue>(queue: &mut Q, objects: &[u32]) {
    for &units in objects {
        queue.queued(units).expect("an object");
    }
}

/// Asserts that the operation returns this error and changes no field.
fn rejected<Q: Queue, T: core::fmt::Debug + PartialEq>(
    queue: &mut Q,
    error: Error,
    operate: impl FnOnce(&mut Q) -> Result<T, Error>,
) {
    let before = queue.snapshot();
    assert_eq!(operate(queue), Err(error));
    assert_eq!(queue.snapshot(), before);
}

both_variants!(
    failed_send_restores_all_but_the_size,
    only_the_last_object_can_be_unqueued_once,
    what_was_completed_cannot_be_taken_back,
    a_level_completes_the_difference,
    a_level_with_nothing_new_is_no_sample,
    a_level_above_the_ledger_changes_nothing,
    repair_after_lost_completions_restores_room,
    repair_after_duplicate_completions_removes_room,
    repair_keeps_limit_and_begins_an_interval,
    repair_above_the_maximum_changes_nothing,
);

fn failed_send_restores_all_but_the_size<Q: Queue>() {
    let mut queue: Q = with_limit(5000);
    queue_all(&mut queue, &[1000]);
    let before = queue.snapshot();
    queue_all(&mut queue, &[1514]);
    assert_eq!(queue.unqueue(1514), Ok(()));
    let without_size = Snapshot {
        last_object: 0,
        ..before
    };
    assert_eq!(queue.snapshot(), without_size);
}

fn only_the_last_object_can_be_unqueued_once<Q: Queue>() {
    let mut queue: Q = with_limit(5000);
    let none = |units| Error::NotQueuedLast {
        units,
        last_object: 0,
    };
    rejected(&mut queue, none(1), |queue| queue.unqueue(1));
    queue_all(&mut queue, &[1000, 1514]);
    let other = Error::NotQueuedLast {
        units: 1000,
        last_object: 1514,
    };
    rejected(&mut queue, other, |queue| queue.unqueue(1000));
    assert_eq!(queue.unqueue(1514), Ok(()));
    rejected(&mut queue, none(1514), |queue| queue.unqueue(1514));
    rejected(&mut queue, none(1000), |queue| queue.unqueue(1000));
    queue_all(&mut queue, &[7]);
    assert_eq!(queue.unqueue(7), Ok(()));
    assert_eq!(queue.snapshot().in_flight, 1000);
}

fn what_was_completed_cannot_be_taken_back<Q: Queue>() {
    let mut queue: Q = with_limit(5000);
    queue_all(&mut queue, &[1000, 600]);
    queue.completed(1001, 1).expect("units in flight");
    let error = Error::AlreadyCompleted {
        units: 600,
        in_flight: 599,
    };
    rejected(&mut queue, error, |queue| queue.unqueue(600));
}

fn a_level_completes_the_difference<Q: Queue>() {
    let (mut by_level, mut by_round): (Q, Q) = (with_limit(1000), with_limit(1000));
    for (now_ns, level) in [(1, 2500), (2, 900), (3, 0)] {
        queue_all(&mut by_level, &[1500, 1500]);
        queue_all(&mut by_round, &[1500, 1500]);
        let done = by_level.snapshot().in_flight - level;
        assert_eq!(by_level.observe_in_flight(level, now_ns), Ok(done));
        by_round.completed(done, now_ns).expect("units in flight");
        assert_eq!(by_level.snapshot(), by_round.snapshot());
    }
}

fn a_level_with_nothing_new_is_no_sample<Q: Queue>() {
    let mut queue: Q = with_limit(5000);
    queue_all(&mut queue, &[1500, 1500]);
    let before = queue.snapshot();
    for now_ns in 1..1000 {
        assert_eq!(queue.observe_in_flight(3000, now_ns * 10_000_000), Ok(0));
    }
    assert_eq!(queue.snapshot(), before);
}

fn a_level_above_the_ledger_changes_nothing<Q: Queue>() {
    let mut queue: Q = with_limit(5000);
    queue_all(&mut queue, &[1500]);
    let error = Error::ObservedAboveInFlight {
        observed: 1501,
        in_flight: 1500,
    };
    rejected(&mut queue, error, |queue| queue.observe_in_flight(1501, 1));
}

fn repair_after_lost_completions_restores_room<Q: Queue>() {
    let mut queue: Q = with_limit(3000);
    queue_all(&mut queue, &[1500, 1500, 1500]);
    queue.completed(1400, 1).expect("units in flight");
    assert_eq!(queue.repair(100, 2), Ok(3000));
    let after = queue.snapshot();
    let (room, totals) = (after.room, (after.num_queued, after.num_completed));
    assert_eq!((after.in_flight, room), (100, 2900));
    assert_eq!(totals, (4500, 4400), "an excess counts as completed");
    assert_eq!(queue.completed(100, 3), Ok(()));
}

fn repair_after_duplicate_completions_removes_room<Q: Queue>() {
    let mut queue: Q = with_limit(3000);
    queue_all(&mut queue, &[1500, 1500]);
    queue.completed(3000, 1).expect("units in flight");
    assert_eq!(queue.repair(1500, 2), Ok(-1500));
    let after = queue.snapshot();
    assert_eq!((after.in_flight, after.room), (1500, 1500));
    let totals = (after.num_queued, after.num_completed);
    assert_eq!(totals, (4500, 3000), "missing units count as queued");
    let none = Error::NotQueuedLast {
        units: 1500,
        last_object: 0,
    };
    rejected(&mut queue, none, |queue| queue.unqueue(1500));
    assert_eq!(queue.completed(1500, 3), Ok(()));
}

fn repair_keeps_limit_and_begins_an_interval<Q: Queue>() {
    let mut queue: Q = with_limit(4000);
    queue_all(&mut queue, &[3000, 3000]);
    queue.completed(100, 1).expect("units in flight");
    assert_eq!(queue.snapshot().prev_over_limit, 2000);
    assert_eq!(queue.repair(5000, 77), Ok(900));
    let after = queue.snapshot();
    assert_eq!((after.limit, after.epoch), (4000, 0));
    assert_eq!((after.prev_over_limit, after.prev_num_queued), (0, 6000));
    assert_eq!((after.window_start_ns, after.lowest_slack), (77, u32::MAX));
    // Nothing new was queued in the interval that the repair began, so the limit cannot grow.
    queue.completed(5000, 78).expect("units in flight");
    assert_eq!(queue.snapshot().limit, 4000);
}

fn repair_above_the_maximum_changes_nothing<Q: Queue>() {
    let mut queue: Q = with_limit(4000);
    queue_all(&mut queue, &[3000]);
    let in_flight = MAX_IN_FLIGHT + 1;
    let error = Error::RepairTooLarge { in_flight };
    rejected(&mut queue, error, |queue| queue.repair(in_flight, 1));
    assert_eq!(queue.repair(MAX_IN_FLIGHT, 1), Ok(3000 - (1_i64 << 31) + 1));
    assert_eq!(queue.repair(0, 1), Ok((1 << 31) - 1));
}

/// The reason for the warning in the documentation of `completed`.
#[test]
fn empty_completion_lowers_the_limit() {
    let mut polled = with_limit::<Dql>(100_000);
    for now_ms in 0..1100_u64 {
        while polled.has_room() {
            polled.queued(1000).expect("an object with room for it");
        }
        polled.completed(50_000, now_ms * 1_000_000).expect("half");
        while polled.has_room() {
            polled.queued(1000).expect("an object with room for it");
        }
    }
    let before = polled.limit();
    let mut with_empty_batches = polled.clone();
    for poll in 1..=250_000 {
        let now_ns = 1_100_000_000 + poll * 10_000;
        assert_eq!(polled.observe_in_flight(polled.in_flight(), now_ns), Ok(0));
        with_empty_batches.completed(0, now_ns).expect("nothing");
    }
    assert_eq!(polled.limit(), before);
    assert!(with_empty_batches.limit() <= before / 2);
}

#[test]
fn halves_of_two_queues_cannot_be_repaired_together() {
    let (one, other) = (Shared::new(), Shared::new());
    let (mut sender, one_completer) = split(&one, Config::default(), 0).expect("one");
    let (_sender, mut completer) = split(&other, Config::default(), 0).expect("the other");
    sender.queued(7).expect("an object");
    let before = (one_completer.snapshot(), completer.snapshot());
    let repaired = completer.repair(&mut sender, 0, 5);
    assert_eq!(repaired, Err(Error::DifferentQueues));
    assert_eq!((one_completer.snapshot(), completer.snapshot()), before);
}

#[test]
fn repair_is_seen_by_both_halves() {
    let mut queue = with_limit::<Halves>(3000);
    queue_all(&mut queue, &[1500, 1500]);
    queue.repair(10, 1).expect("little");
    let Halves {
        sender, completer, ..
    } = &queue;
    assert_eq!((sender.in_flight(), completer.in_flight()), (10, 10));
    assert_eq!((sender.room(), completer.room()), (2990, 2990));
    assert_eq!(completer.snapshot(), queue.snapshot());
}
