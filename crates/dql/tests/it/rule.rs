//! The rule without its ledger, under a ledger of the caller's.

use proptest::prelude::*;
use taut_dql::{Config, Dql, Error, Estimator, MAX_IN_FLIGHT, MAX_OBJECT, Queued, check_object};

#[test]
fn a_bad_configuration_is_refused() {
    let config = Config {
        min_limit: 2,
        max_limit: 1,
        ..Config::default()
    };
    let error = Error::MinAboveMax {
        min_limit: 2,
        max_limit: 1,
    };
    assert_eq!(Estimator::new(config, 0).err(), Some(error));
}

#[test]
fn totals_that_are_behind_what_is_completed_are_refused() {
    let mut estimator = Estimator::new(Config::default(), 0).expect("the defaults");
    let queued = |num_queued| Queued {
        num_queued,
        last_object: 10,
    };
    assert_eq!(estimator.completed(queued(10), 10, 1), Ok(20));
    for units in [0, 1, 1000] {
        let error = Error::OverCompletion {
            units,
            in_flight: 0,
        };
        assert_eq!(estimator.completed(queued(5), units, 2), Err(error));
    }
    assert_eq!(estimator.repair(queued(12), 2, 3), 20);
    assert_eq!(estimator.completed(queued(12), 2, 4), Ok(22));
}

#[test]
fn check_object_adds_or_says_why_not() {
    assert_eq!(check_object(5, 0), Ok(5));
    assert_eq!(check_object(0, MAX_OBJECT), Ok(MAX_OBJECT));
    assert_eq!(check_object(MAX_IN_FLIGHT - 7, 7), Ok(MAX_IN_FLIGHT));
    let (units, in_flight) = (8, MAX_IN_FLIGHT - 7);
    let too_much = Error::TooMuchInFlight { units, in_flight };
    assert_eq!(check_object(in_flight, units), Err(too_much));
    for in_flight in [0, MAX_IN_FLIGHT] {
        for units in [MAX_OBJECT + 1, u32::MAX] {
            let error = Error::ObjectTooLarge { units };
            assert_eq!(check_object(in_flight, units), Err(error));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn under_another_ledger_it_decides_as_in_dql(
        hold_time_ns in 0..1000_u64,
        rounds in prop::collection::vec((0..4_u32, 0..3000_u32, 0..=16_u64, 0..200_u64), 1..200),
    ) {
        let config = Config { hold_time_ns, ..Config::default() };
        let mut dql = Dql::with_config(config, 0).expect("a valid configuration");
        let mut estimator = Estimator::new(config, 0).expect("a valid configuration");
        let (mut queued, mut in_flight, mut now_ns) = (Queued::default(), 0, 0);
        for (objects, size, share, wait_ns) in rounds {
            for _ in 0..objects {
                dql.queued(size).expect("an object");
                in_flight = check_object(in_flight, size).expect("an object");
                queued.num_queued = queued.num_queued.wrapping_add(size);
                queued.last_object = size;
            }
            now_ns += wait_ns;
            let units = (u64::from(in_flight) * share / 16) as u32;
            dql.completed(units, now_ns).expect("what was in flight");
            in_flight -= units;
            let adj_limit = estimator.completed(queued, units, now_ns);
            prop_assert_eq!(adj_limit, Ok(dql.snapshot().adj_limit));
            prop_assert_eq!(estimator.limit(), dql.limit());
            prop_assert_eq!(estimator.num_completed(), dql.snapshot().num_completed);
        }
        prop_assert_eq!(estimator.reset(now_ns), 0);
        dql.reset(now_ns);
        prop_assert_eq!(estimator.config(), config);
    }
}
