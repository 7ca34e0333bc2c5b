//! The rule and the ledger, each without the other part of `Dql`.

use proptest::prelude::*;
use taut_dql::control::Control;
use taut_dql::ledger::Ledger;
use taut_dql::limit::{CompletionBatch, Limit};
use taut_dql::sharing::{Local, Sharing, Threads};
use taut_dql::{Config, Dql, Dynamic, Error, MAX_IN_FLIGHT, MAX_OBJECT, check_object};

#[test]
fn invalid_configuration_is_rejected() {
    let config = Config {
        min_limit: 2,
        max_limit: 1,
        ..Config::default()
    };
    let error = Error::MinAboveMax {
        min_limit: 2,
        max_limit: 1,
    };
    assert_eq!(Dynamic::new(config).err(), Some(error));
}

fn ledger_below_zero_is_rejected_until_repaired<M: Sharing>() {
    let ledger = Ledger::<M>::new(10);
    ledger.queued(10).expect("an object");
    ledger.completed(10, 10);
    // The driver completed an object that the sender then removed.
    ledger.subtract_queued(5);
    for units in [0, 1, 1000] {
        let in_flight = 0;
        let error = Error::OverCompletion { units, in_flight };
        assert_eq!(ledger.batch(units, false, 2), Err(error));
    }
    assert_eq!((ledger.in_flight(), ledger.set_in_flight(2, 10)), (0, -7));
    assert_eq!(ledger.batch(2, false, 4).map(|it| it.in_flight), Ok(2));
    assert_eq!((ledger.in_flight(), ledger.room()), (2, 8));
}

#[test]
fn ledger_below_zero_needs_a_repair() {
    ledger_below_zero_is_rejected_until_repaired::<Local>();
    ledger_below_zero_is_rejected_until_repaired::<Threads>();
}

#[test]
fn check_object_adds_or_returns_the_reason() {
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

/// A rule with only the required methods.
#[derive(Debug)]
struct Half(u32);

impl Limit for Half {
    fn limit(&self) -> u32 {
        self.0
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        self.0 = batch.units / 2;
        self.0
    }

    fn reset(&mut self, _now_ns: u64) {
        self.0 = 0;
    }
}

#[test]
fn rule_needs_three_methods() {
    let ledger = Ledger::<Local>::new(0);
    let mut control = Control::new(Half(0), 0);
    assert_eq!(
        control.set_config(Config::default()),
        Err(Error::NotSettable)
    );
    ledger.queued(1_000).expect("an object");
    ledger.note_blocked(1);
    let batch = ledger.batch(1_000, false, 1).expect("in flight");
    let record_batch =
        |batch: &CompletionBatch| assert_eq!((batch.times_blocked, batch.rate_per_s), (0, 0));
    assert_eq!(control.completed(&ledger, batch, false, record_batch), 500);
    assert_eq!((ledger.room(), control.rule().config().limit), (500, 500));
    control.reset(&ledger, 0, 2);
    assert_eq!((ledger.room(), ledger.in_flight()), (0, 0));
}

#[test]
fn repair_keeps_a_limit_without_settings() {
    let mut rule = Half(500);
    rule.repair(0, 1);
    assert_eq!(rule.limit(), 500);
}

#[test]
fn disabled_limit_still_adapts() {
    let ledger = Ledger::<Local>::new(0);
    let mut control = Control::new(Half(0), 0);
    control.set_disabled(&ledger, true);
    ledger.queued(1_000).expect("an object");
    assert!(ledger.has_room());
    let batch = ledger.batch(1_000, false, 1).expect("in flight");
    control.completed(&ledger, batch, false, |_| ());
    control.set_disabled(&ledger, false);
    assert_eq!(ledger.room(), 500);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
        fn control_decides_as_dql(
        hold_time_ns in 0..1000_u64,
        rounds in prop::collection::vec((0..4_u32, 0..3000_u32, 0..=16_u64, 0..200_u64), 1..200),
    ) {
        let config = Config { hold_time_ns, ..Config::default() };
        let mut dql = Dql::with_config(config, 0).expect("a valid configuration");
        let rule = Dynamic::new(config).expect("a valid configuration");
        let ledger = Ledger::<Threads>::new(rule.limit());
        let mut control = Control::new(rule, 0);
        let mut now_ns = 0;
        for (objects, size, share, wait_ns) in rounds {
            for _ in 0..objects {
                dql.queued(size).expect("an object");
                ledger.queued(size).expect("an object");
            }
            now_ns += wait_ns;
            let units = (u64::from(ledger.in_flight()) * share / 16) as u32;
            if units > 0 {
                dql.completed(units, now_ns).expect("units in flight");
                let batch = ledger.batch(units, false, now_ns).expect("units in flight");
                control.completed(&ledger, batch, true, |_| ());
            }
            prop_assert_eq!(ledger.allowed(), dql.snapshot().adj_limit);
            prop_assert_eq!(control.limit(), dql.limit());
            prop_assert_eq!(control.num_completed(&ledger), dql.snapshot().num_completed);
        }
        control.reset(&ledger, 0, now_ns);
        dql.reset(now_ns);
        prop_assert_eq!(control.rule().config(), config);
        prop_assert_eq!((ledger.room(), ledger.in_flight()), (dql.room(), dql.in_flight()));
    }
}
