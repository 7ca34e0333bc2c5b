//! Each behaviour that the specification names, in both variants.

use taut_dql::{Config, Dql, Error, MAX_LIMIT, MAX_OBJECT, Snapshot};

use crate::queue::{Halves, Queue, Setting};

both_variants!(
    starts_empty_and_lets_one_object_through,
    limit_of_the_configuration_counts_at_once,
    grows_by_units_queued_and_completed_within_the_interval,
    grows_by_the_previous_excess_too,
    cut_waits_until_strictly_after_the_hold_time,
    endless_hold_time_never_cuts,
    smallest_slack_decides_and_zero_cancels,
    idle_time_does_not_restart_the_window,
    excess_is_forgotten_when_the_limit_changes,
    limit_is_clamped_at_the_next_completion,
    explicit_limit_applies_at_the_next_completion,
    reset_gives_the_right_room_at_once,
    oversized_objects_change_nothing,
    two_to_the_31_in_flight_are_refused,
    over_completion_changes_nothing,
    settings_out_of_range_change_nothing,
    room_is_true_with_extreme_amounts,
);

fn fresh<Q: Queue>(config: Config) -> Q {
    Q::fresh(config, 0).expect("a valid configuration")
}

fn with_limit<Q: Queue>(limit: u32, hold_time_ns: u64) -> Q {
    fresh(Config {
        limit,
        hold_time_ns,
        ..Config::default()
    })
}

fn queue_all<Q: Queue>(queue: &mut Q, objects: &[u32]) {
    for &units in objects {
        queue.queued(units).expect("an object");
    }
}

fn complete<Q: Queue>(queue: &mut Q, units: u32, now_ns: u64) -> Snapshot {
    queue.completed(units, now_ns).expect("units in flight");
    queue.snapshot()
}

/// Asserts that the operation returns this error and changes no field.
fn rejected<Q: Queue>(
    queue: &mut Q,
    error: Error,
    operate: impl FnOnce(&mut Q) -> Result<(), Error>,
) {
    let before = queue.snapshot();
    assert_eq!(operate(queue), Err(error));
    assert_eq!(queue.snapshot(), before);
}

fn starts_empty_and_lets_one_object_through<Q: Queue>() {
    let mut queue: Q = fresh(Config::default());
    let expected = Snapshot {
        limit: 0,
        adj_limit: 0,
        num_queued: 0,
        num_completed: 0,
        room: 0,
        window_start_ns: 0,
        lowest_slack: u32::MAX,
        prev_over_limit: 0,
        prev_num_queued: 0,
        prev_last_object: 0,
        last_object: 0,
        min_limit: 0,
        max_limit: MAX_LIMIT,
        hold_time_ns: 1_000_000_000,
        epoch: 0,
        in_flight: 0,
    };
    assert_eq!(queue.snapshot(), expected);
    queue_all(&mut queue, &[1514]);
    assert_eq!(queue.snapshot().room, -1514);
}

fn limit_of_the_configuration_counts_at_once<Q: Queue>() {
    let mut queue: Q = with_limit(3000, 0);
    assert_eq!(
        (queue.snapshot().room, queue.snapshot().adj_limit),
        (3000, 3000)
    );
    queue_all(&mut queue, &[3000]);
    assert_eq!(queue.snapshot().room, 0);
}

fn grows_by_units_queued_and_completed_within_the_interval<Q: Queue>() {
    let mut queue: Q = with_limit(1000, 0);
    queue_all(&mut queue, &[800]);
    complete(&mut queue, 300, 1);
    queue_all(&mut queue, &[700]); // 1,200 in flight: 200 over
    assert_eq!(complete(&mut queue, 1200, 2).limit, 1000 + 700);
}

fn grows_by_the_previous_excess_too<Q: Queue>() {
    let mut queue: Q = with_limit(4000, 1000);
    queue_all(&mut queue, &[5000]);
    assert_eq!(complete(&mut queue, 2000, 1).prev_over_limit, 1000);
    queue_all(&mut queue, &[3000]);
    // All 3,000 units queued before are complete, and none queued after: the excess alone.
    assert_eq!(complete(&mut queue, 3000, 2).limit, 5000);
}

fn cut_waits_until_strictly_after_the_hold_time<Q: Queue>() {
    let mut queue: Q = with_limit(10_000, 1000);
    queue_all(&mut queue, &[10_000]);
    complete(&mut queue, 1000, 1);
    queue_all(&mut queue, &[1000]);
    let at_the_end = complete(&mut queue, 1000, 1000);
    assert_eq!((at_the_end.limit, at_the_end.lowest_slack), (10_000, 8000));
    queue_all(&mut queue, &[1000]);
    let after = complete(&mut queue, 1000, 1001);
    assert_eq!((after.limit, after.lowest_slack), (2000, u32::MAX));
    assert_eq!(after.window_start_ns, 1001);
}

fn endless_hold_time_never_cuts<Q: Queue>() {
    let mut queue: Q = with_limit(10_000, u64::MAX);
    queue_all(&mut queue, &[10_000]);
    complete(&mut queue, 1, 0);
    assert_eq!(complete(&mut queue, 1, u64::MAX).limit, 10_000);
}

fn smallest_slack_decides_and_zero_cancels<Q: Queue>() {
    for (busiest, limit) in [(2000, 4000), (5000, 10_000)] {
        let mut queue: Q = with_limit(10_000, 1000);
        queue_all(&mut queue, &[10_000]);
        complete(&mut queue, 1000, 1);
        queue_all(&mut queue, &[1000]);
        complete(&mut queue, busiest, 2);
        queue_all(&mut queue, &[busiest]);
        let cut = complete(&mut queue, 1000, 1001);
        assert_eq!(
            (cut.limit, cut.window_start_ns),
            (limit, 1001),
            "busiest {busiest}"
        );
    }
}

fn idle_time_does_not_restart_the_window<Q: Queue>() {
    let mut queue: Q = with_limit(100_000, 1000);
    for now_ns in [500, 5000] {
        queue_all(&mut queue, &[1000]);
        let idle = complete(&mut queue, 1000, now_ns);
        assert_eq!((idle.limit, idle.window_start_ns), (100_000, 0));
    }
    queue_all(&mut queue, &[60_000]);
    complete(&mut queue, 1000, 5001);
    // Only the first busy sample after the idle time counts.
    assert_eq!(complete(&mut queue, 20_000, 5002).limit, 40_000);
}

fn excess_is_forgotten_when_the_limit_changes<Q: Queue>() {
    let mut queue: Q = with_limit(1000, 1_000_000);
    queue_all(&mut queue, &[3000]);
    assert_eq!(complete(&mut queue, 1000, 1).prev_over_limit, 2000);
    queue.set(Setting::MaxLimit(900)).expect("a bound");
    queue_all(&mut queue, &[500]);
    let clamped = complete(&mut queue, 1000, 2);
    assert_eq!((clamped.limit, clamped.prev_over_limit), (900, 0));
}

fn limit_is_clamped_at_the_next_completion<Q: Queue>() {
    let mut queue: Q = with_limit(5000, 0);
    queue.set(Setting::MaxLimit(4000)).expect("a bound");
    assert_eq!(
        (queue.snapshot().limit, queue.snapshot().room),
        (5000, 5000)
    );
    assert_eq!(
        (complete(&mut queue, 0, 0).limit, queue.snapshot().room),
        (4000, 4000)
    );
    queue.set(Setting::Limit(10)).expect("a limit");
    queue.set(Setting::MinLimit(4000)).expect("a bound");
    assert_eq!(complete(&mut queue, 0, 0).limit, 4000);
}

fn explicit_limit_applies_at_the_next_completion<Q: Queue>() {
    let mut queue: Q = fresh(Config::default());
    queue.set(Setting::Limit(7000)).expect("a limit");
    assert_eq!(
        (queue.snapshot().limit, queue.snapshot().adj_limit),
        (7000, 0)
    );
    assert_eq!(complete(&mut queue, 0, 0).room, 7000);
}

fn reset_gives_the_right_room_at_once<Q: Queue>() {
    let config = Config {
        limit: 9000,
        min_limit: 3000,
        max_limit: 20_000,
        hold_time_ns: 1_000_000,
    };
    let mut queue: Q = fresh(config);
    queue_all(&mut queue, &[8000, 5000]);
    complete(&mut queue, 2000, 3);
    queue_all(&mut queue, &[700]);
    queue.reset(77).expect("both halves of one queue");
    let untouched: Q = Q::fresh(
        Config {
            limit: 3000,
            ..config
        },
        77,
    )
    .expect("valid");
    let after = queue.snapshot();
    assert_eq!(
        after,
        Snapshot {
            epoch: 1,
            ..untouched.snapshot()
        }
    );
    assert_eq!((after.room, after.window_start_ns), (3000, 77));
}

fn oversized_objects_change_nothing<Q: Queue>() {
    let mut queue: Q = fresh(Config::default());
    queue_all(&mut queue, &[5]);
    for units in [MAX_OBJECT + 1, u32::MAX - 4, u32::MAX] {
        rejected(&mut queue, Error::ObjectTooLarge { units }, |queue| {
            queue.queued(units)
        });
    }
    queue_all(&mut queue, &[MAX_OBJECT]);
    assert_eq!(queue.snapshot().in_flight, MAX_OBJECT + 5);
}

fn two_to_the_31_in_flight_are_refused<Q: Queue>() {
    let mut queue: Q = fresh(Config::default());
    queue_all(&mut queue, &[1]);
    complete(&mut queue, 1, 0);
    queue_all(&mut queue, &[MAX_OBJECT; 8]);
    let in_flight = 8 * MAX_OBJECT;
    rejected(
        &mut queue,
        Error::TooMuchInFlight {
            units: 8,
            in_flight,
        },
        |queue| queue.queued(8),
    );
    queue_all(&mut queue, &[7]);
    assert_eq!(queue.snapshot().in_flight, i32::MAX as u32);
    let full = Error::TooMuchInFlight {
        units: 1,
        in_flight: i32::MAX as u32,
    };
    rejected(&mut queue, full, |queue| queue.queued(1));
    queue_all(&mut queue, &[0]);
    assert_eq!(complete(&mut queue, i32::MAX as u32, 1).in_flight, 0);
}

fn over_completion_changes_nothing<Q: Queue>() {
    let mut queue: Q = fresh(Config::default());
    let nothing = Error::OverCompletion {
        units: 1,
        in_flight: 0,
    };
    rejected(&mut queue, nothing, |queue| queue.completed(1, 9));
    queue_all(&mut queue, &[100, 50]);
    complete(&mut queue, 30, 10);
    for units in [121, u32::MAX] {
        let error = Error::OverCompletion {
            units,
            in_flight: 120,
        };
        rejected(&mut queue, error, |queue| queue.completed(units, 99));
    }
    assert_eq!(complete(&mut queue, 120, 11).in_flight, 0);
}

fn settings_out_of_range_change_nothing<Q: Queue>() {
    let mut queue: Q = fresh(Config {
        min_limit: 10,
        max_limit: 20,
        ..Config::default()
    });
    let limit = MAX_LIMIT + 1;
    for setting in [
        Setting::Limit(limit),
        Setting::MinLimit(limit),
        Setting::MaxLimit(limit),
    ] {
        rejected(&mut queue, Error::LimitTooLarge { limit }, |queue| {
            queue.set(setting)
        });
    }
    let crossed = Error::MinAboveMax {
        min_limit: 21,
        max_limit: 20,
    };
    rejected(&mut queue, crossed, |queue| {
        queue.set(Setting::MinLimit(21))
    });
    let crossed = Error::MinAboveMax {
        min_limit: 10,
        max_limit: 9,
    };
    rejected(&mut queue, crossed, |queue| queue.set(Setting::MaxLimit(9)));
    queue
        .set(Setting::MinLimit(20))
        .expect("a bound equal to the other");
    queue.set(Setting::HoldTimeNs(0)).expect("any hold time");
    assert_eq!(
        (queue.snapshot().min_limit, queue.snapshot().hold_time_ns),
        (20, 0)
    );
}

fn room_is_true_with_extreme_amounts<Q: Queue>() {
    let mut queue: Q = with_limit(MAX_LIMIT, 0);
    assert_eq!(queue.snapshot().room, MAX_LIMIT as i32);
    queue_all(&mut queue, &[MAX_OBJECT; 8]);
    assert_eq!(
        queue.snapshot().room,
        MAX_LIMIT as i32 - (8 * MAX_OBJECT) as i32
    );
    let mut queue: Q = fresh(Config::default());
    queue_all(&mut queue, &[MAX_OBJECT; 8]);
    queue_all(&mut queue, &[7]);
    assert_eq!(queue.snapshot().room, -i32::MAX);
}

#[test]
fn configurations_are_checked_by_both_variants() {
    let limit = MAX_LIMIT + 1;
    let bad = [
        (
            Config {
                limit,
                ..Config::default()
            },
            Error::LimitTooLarge { limit },
        ),
        (
            Config {
                min_limit: limit,
                ..Config::default()
            },
            Error::LimitTooLarge { limit },
        ),
        (
            Config {
                max_limit: limit,
                ..Config::default()
            },
            Error::LimitTooLarge { limit },
        ),
        (
            Config {
                min_limit: 2,
                max_limit: 1,
                ..Config::default()
            },
            Error::MinAboveMax {
                min_limit: 2,
                max_limit: 1,
            },
        ),
    ];
    for (config, error) in bad {
        assert_eq!(config.validate(), Err(error));
        assert_eq!(Dql::fresh(config, 0).err(), Some(error));
        assert_eq!(Halves::fresh(config, 0).err(), Some(error));
    }
    assert_eq!(Config::default().validate(), Ok(()));
}

#[test]
fn errors_say_what_is_allowed() {
    let said = [
        (
            Error::ObjectTooLarge { units: 300_000_000 },
            ["300000000", "268435455"],
        ),
        (
            Error::TooMuchInFlight {
                units: 8,
                in_flight: 2147483640,
            },
            ["2147483640", "2147483647"],
        ),
        (
            Error::OverCompletion {
                units: 12,
                in_flight: 11,
            },
            ["12", "11"],
        ),
        (
            Error::ObservedAboveInFlight {
                observed: 31,
                in_flight: 30,
            },
            ["31", "30"],
        ),
        (
            Error::NotQueuedLast {
                units: 14,
                last_object: 13,
            },
            ["14", "13"],
        ),
        (
            Error::AlreadyCompleted {
                units: 16,
                in_flight: 15,
            },
            ["16", "15"],
        ),
        (
            Error::RepairTooLarge {
                in_flight: 2147483648,
            },
            ["2147483648", "2147483647"],
        ),
        (
            Error::LimitTooLarge { limit: 1879048193 },
            ["1879048193", "1879048192"],
        ),
        (
            Error::MinAboveMax {
                min_limit: 5,
                max_limit: 4,
            },
            ["5", "4"],
        ),
    ];
    for (error, words) in said {
        let message = error.to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}
