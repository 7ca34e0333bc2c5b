//! Random operations on both variants, each compared with the model after every operation.

use proptest::prelude::*;
use taut_dql::{Config, Dql, Error, MAX_LIMIT, MAX_OBJECT, Snapshot};

use crate::model::Model;
use crate::queue::{Halves, Queue, Setting};

#[derive(Clone, Debug)]
enum Operation {
    Queue(u32),
    /// Queues until there is no room.
    Saturate(u32),
    /// Completes this fraction of the units in flight, in 256ths.
    CompleteShare(u32),
    Complete(u32),
    /// Advances the totals far, so that they wrap repeatedly.
    Turn(u32),
    /// Queues this many of the largest objects, with or without room.
    Flood(u32),
    /// Removes the object queued last.
    Unqueue,
    UnqueueSize(u32),
    /// Observes this fraction of the units in flight as outstanding, in 256ths.
    ObserveShare(u32),
    Observe(u32),
    Repair(u32),
    Wait(u64),
    SetLimit(u32),
    SetMin(u32),
    SetMax(u32),
    SetHold(u64),
    Reset,
}

fn size() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0..3000_u32,
        1 => Just(0),
        1 => MAX_OBJECT - 2..=MAX_OBJECT,
        1 => 0..=MAX_OBJECT,
        1 => MAX_OBJECT..=u32::MAX,
    ]
}

fn limit() -> impl Strategy<Value = u32> {
    prop_oneof![
        5 => 0..20_000_u32,
        1 => 0..=MAX_LIMIT,
        1 => MAX_LIMIT - 2..=u32::MAX,
    ]
}

fn hold_ns() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..30_u64, 1 => any::<u64>()]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => size().prop_map(Operation::Queue),
        3 => (1..3000_u32).prop_map(Operation::Saturate),
        6 => (0..=256_u32).prop_map(Operation::CompleteShare),
        3 => Just(Operation::CompleteShare(256)),
        2 => size().prop_map(Operation::Complete),
        1 => (1..=9_u32).prop_map(Operation::Turn),
        1 => (1..=9_u32).prop_map(Operation::Flood),
        3 => Just(Operation::Unqueue),
        1 => size().prop_map(Operation::UnqueueSize),
        3 => (0..=257_u32).prop_map(Operation::ObserveShare),
        1 => size().prop_map(Operation::Observe),
        1 => prop_oneof![size(), any::<u32>()].prop_map(Operation::Repair),
        6 => (0..20_u64).prop_map(Operation::Wait),
        1 => limit().prop_map(Operation::SetLimit),
        1 => limit().prop_map(Operation::SetMin),
        1 => limit().prop_map(Operation::SetMax),
        1 => hold_ns().prop_map(Operation::SetHold),
        1 => Just(Operation::Reset),
    ]
}

/// One variant and the model.
struct Pair<Q> {
    queue: Q,
    model: Model,
    now_ns: u64,
}

impl<Q: Queue> Pair<Q> {
    fn new(config: Config) -> Self {
        let queue = Q::fresh(config, 5).expect("a valid configuration");
        Pair {
            queue,
            model: Model::new(config, 5),
            now_ns: 5,
        }
    }

    fn queue(&mut self, units: u32) -> (Result<(), Error>, Result<(), Error>) {
        (self.queue.queued(units), self.model.queued(units))
    }

    fn unqueue(&mut self, units: u32) -> (Result<(), Error>, Result<(), Error>) {
        (self.queue.unqueue(units), self.model.unqueue(units))
    }

    fn observe(&mut self, units: u32) -> (Result<u32, Error>, Result<u32, Error>) {
        (
            self.queue.observe_in_flight(units, self.now_ns),
            self.model.observe_in_flight(units, self.now_ns),
        )
    }

    fn repair(&mut self, in_flight: u32) -> (Result<i64, Error>, Result<i64, Error>) {
        (
            self.queue.repair(in_flight, self.now_ns),
            self.model.repair(in_flight, self.now_ns),
        )
    }

    fn complete(&mut self, units: u32) -> (Result<(), Error>, Result<(), Error>) {
        (
            self.queue.completed(units, self.now_ns),
            self.model.completed(units, self.now_ns),
        )
    }

    fn set(&mut self, setting: Setting) -> (Result<(), Error>, Result<(), Error>) {
        let expected = match setting {
            Setting::Limit(limit) => self.model.set_limit(limit),
            Setting::MinLimit(limit) => self.model.set_min_limit(limit),
            Setting::MaxLimit(limit) => self.model.set_max_limit(limit),
            Setting::HoldTimeNs(hold_time_ns) => {
                self.model.hold_time_ns = hold_time_ns.into();
                Ok(())
            }
        };
        (self.queue.set(setting), expected)
    }

    fn apply(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        match *operation {
            Operation::Queue(units) => self.agree(|pair| pair.queue(units))?,
            Operation::Saturate(units) => {
                for _ in 0..20 {
                    if self.model.room() < 0 {
                        break;
                    }
                    self.agree(|pair| pair.queue(units))?;
                }
            }
            Operation::CompleteShare(share) => {
                let units = (self.model.in_flight() * i128::from(share) / 256) as u32;
                self.agree(|pair| pair.complete(units))?;
            }
            Operation::Complete(units) => self.agree(|pair| pair.complete(units))?,
            Operation::Turn(objects) => {
                for _ in 0..objects {
                    self.agree(|pair| pair.queue(MAX_OBJECT))?;
                    let units = (self.model.in_flight() * 3 / 4) as u32;
                    self.agree(|pair| pair.complete(units))?;
                }
            }
            Operation::Flood(objects) => {
                for _ in 0..objects {
                    self.agree(|pair| pair.queue(MAX_OBJECT))?;
                }
            }
            Operation::Unqueue => {
                let units = self.queue.snapshot().last_object;
                self.agree(|pair| pair.unqueue(units))?;
            }
            Operation::UnqueueSize(units) => self.agree(|pair| pair.unqueue(units))?,
            Operation::ObserveShare(share) => {
                let units = (self.model.in_flight() * i128::from(share) / 256) as u32;
                self.agree(|pair| pair.observe(units))?;
            }
            Operation::Observe(units) => self.agree(|pair| pair.observe(units))?,
            Operation::Repair(in_flight) => self.agree(|pair| pair.repair(in_flight))?,
            Operation::Wait(ns) => self.now_ns += ns,
            Operation::SetLimit(limit) => self.agree(|pair| pair.set(Setting::Limit(limit)))?,
            Operation::SetMin(limit) => self.agree(|pair| pair.set(Setting::MinLimit(limit)))?,
            Operation::SetMax(limit) => self.agree(|pair| pair.set(Setting::MaxLimit(limit)))?,
            Operation::SetHold(ns) => self.agree(|pair| pair.set(Setting::HoldTimeNs(ns)))?,
            Operation::Reset => {
                prop_assert_eq!(self.queue.reset(self.now_ns), Ok(()));
                self.model.reset(self.now_ns);
                prop_assert_eq!(self.queue.snapshot(), self.model.snapshot());
            }
        }
        Ok(())
    }

    /// Both return the same and have the same state afterwards; an error changes nothing.
    fn agree<F, T>(&mut self, operate: F) -> Result<(), TestCaseError>
    where
        F: FnOnce(&mut Self) -> (Result<T, Error>, Result<T, Error>),
        T: Copy + core::fmt::Debug + PartialEq,
    {
        let before: Snapshot = self.queue.snapshot();
        let (got, expected) = operate(self);
        prop_assert_eq!(got, expected);
        let after = self.queue.snapshot();
        prop_assert_eq!(after, self.model.snapshot());
        if got.is_err() {
            prop_assert_eq!(before, after);
        }
        Ok(())
    }
}

fn config() -> impl Strategy<Value = Config> {
    (0..5000_u32, 0..2000_u32, 2000..100_000_u32, hold_ns()).prop_map(
        |(limit, min_limit, max_limit, hold_time_ns)| Config {
            limit,
            min_limit,
            max_limit,
            hold_time_ns,
        },
    )
}

fn any_config() -> impl Strategy<Value = Config> {
    prop_oneof![Just(Config::default()), config()]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
        fn owned_variant_equals_the_model(
        config in any_config(),
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        let mut pair = Pair::<Dql>::new(config);
        for operation in &operations {
            pair.apply(operation)?;
            prop_assert_eq!(pair.queue.has_room(), pair.model.room() >= 0);
            prop_assert_eq!(i128::from(pair.queue.room()), pair.model.room());
        }
    }

    #[test]
        fn two_thread_variant_equals_the_model(
        config in any_config(),
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        let mut pair = Pair::<Halves>::new(config);
        for operation in &operations {
            pair.apply(operation)?;
            let expected = pair.model.snapshot();
            let Halves { shared, sender, completer } = &pair.queue;
            prop_assert_eq!(completer.snapshot(), expected);
            prop_assert_eq!((sender.room(), completer.room()), (expected.room, expected.room));
            prop_assert_eq!(sender.has_room(), expected.room >= 0);
            prop_assert_eq!(completer.has_room(), expected.room >= 0);
            prop_assert_eq!(sender.in_flight(), expected.in_flight);
            prop_assert_eq!(completer.in_flight(), expected.in_flight);
            prop_assert_eq!(shared.in_flight(), expected.in_flight);
            let applied = expected.adj_limit.wrapping_sub(expected.num_completed);
            prop_assert_eq!(shared.limit(), applied);
        }
    }
}
