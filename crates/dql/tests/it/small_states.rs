//! Every state that small numbers can reach, in lockstep with the model.
//!
//! One unit here is 2^24, so that the 32-bit totals wrap after 256 units, the largest object is 15
//! units, and 128 units in flight are rejected. The code runs as if its counters had 8 bits.

use std::collections::{HashSet, VecDeque};

use taut_dql::{Config, Dql, Error, Snapshot};

use crate::model::Model;
use crate::queue::{Queue, Setting};

const UNIT: u32 = 1 << 24;
const HOLD_NS: u64 = 2;
const MAX_LIMIT_UNITS: u32 = 6;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Queue(u32),
    Complete(u32),
    CompleteHalf,
    CompleteAll,
    CompleteTooMuch,
    Unqueue(u32),
    Repair(u32),
    Tick,
    SetLimit(u32),
    SetMin(u32),
    SetMax(u32),
    Reset,
}

#[derive(Clone)]
struct Lockstep {
    dql: Dql,
    model: Model,
    now_ns: u64,
}

impl Lockstep {
    /// A queue that has already completed `turned_units`, so that its totals are not 0.
    fn new(turned_units: u32) -> Lockstep {
        let config = Config {
            max_limit: MAX_LIMIT_UNITS * UNIT,
            hold_time_ns: HOLD_NS,
            ..Config::default()
        };
        let dql = Dql::with_config(config, 0).expect("a valid configuration");
        let mut lockstep = Lockstep {
            dql,
            model: Model::new(config, 0),
            now_ns: 0,
        };
        for _ in 0..turned_units {
            lockstep.apply(Operation::Queue(1));
            lockstep.apply(Operation::CompleteAll);
        }
        lockstep
    }

    fn in_flight_units(&self) -> u32 {
        self.dql.in_flight() / UNIT
    }

    fn apply(&mut self, operation: Operation) {
        let before = self.dql.snapshot();
        let (got, expected) = match operation {
            Operation::Queue(units) => self.queue(units * UNIT),
            Operation::Complete(units) => self.complete(units * UNIT),
            Operation::CompleteHalf => self.complete(self.in_flight_units() / 2 * UNIT),
            Operation::CompleteAll => self.complete(self.in_flight_units() * UNIT),
            Operation::CompleteTooMuch => self.complete(self.in_flight_units() * UNIT + 1),
            Operation::Unqueue(units) => {
                let units = units * UNIT;
                (self.dql.unqueue(units), self.model.unqueue(units))
            }
            Operation::Repair(units) => {
                let in_flight = units * UNIT;
                let got = self.dql.repair(in_flight, self.now_ns);
                let expected = self.model.repair(in_flight, self.now_ns);
                assert_eq!(got, expected, "the excess");
                (got.map(|_| ()), expected.map(|_| ()))
            }
            Operation::Tick => {
                self.now_ns += 1;
                (Ok(()), Ok(()))
            }
            Operation::SetLimit(limit) => (
                self.dql.set(Setting::Limit(limit * UNIT)),
                self.model.set_limit(limit * UNIT),
            ),
            Operation::SetMin(limit) => (
                self.dql.set(Setting::MinLimit(limit * UNIT)),
                self.model.set_min_limit(limit * UNIT),
            ),
            Operation::SetMax(limit) => (
                self.dql.set(Setting::MaxLimit(limit * UNIT)),
                self.model.set_max_limit(limit * UNIT),
            ),
            Operation::Reset => {
                self.model.reset(self.now_ns);
                self.dql.reset(self.now_ns);
                (Ok(()), Ok(()))
            }
        };
        assert_eq!(got, expected, "{operation:?} after {before:?}");
        let after = self.dql.snapshot();
        assert_eq!(
            after,
            self.model.snapshot(),
            "{operation:?} after {before:?}"
        );
        if got.is_err() {
            assert_eq!(after, before, "{operation:?} was rejected");
        }
        assert_eq!(self.dql.has_room(), self.model.room() >= 0);
    }

    fn queue(&mut self, units: u32) -> (Result<(), Error>, Result<(), Error>) {
        (self.dql.queued(units), self.model.queued(units))
    }

    fn complete(&mut self, units: u32) -> (Result<(), Error>, Result<(), Error>) {
        (
            self.dql.completed(units, self.now_ns),
            self.model.completed(units, self.now_ns),
        )
    }

    /// The state that determines the future: everything except the totals and the clock.
    fn relative(&self) -> Snapshot {
        let s = self.dql.snapshot();
        Snapshot {
            adj_limit: s.adj_limit.wrapping_sub(s.num_completed),
            num_queued: s.in_flight,
            num_completed: 0,
            prev_num_queued: s.prev_num_queued.wrapping_sub(s.num_completed),
            window_start_ns: (self.now_ns - s.window_start_ns).min(HOLD_NS + 1),
            epoch: 0,
            ..s
        }
    }

    /// The state with the totals, so that each position before and after a wrap counts.
    fn absolute(&self) -> Snapshot {
        let s = self.dql.snapshot();
        let window_start_ns = (self.now_ns - s.window_start_ns).min(HOLD_NS + 1);
        Snapshot {
            window_start_ns,
            epoch: 0,
            ..s
        }
    }
}

// A `Snapshot` does not hash, and 14 numbers below 256 fit a small key.
fn key(s: &Snapshot) -> u128 {
    let totals = [
        s.limit,
        s.adj_limit,
        s.num_queued,
        s.num_completed,
        s.prev_num_queued,
    ];
    let amounts = [
        s.prev_over_limit,
        s.prev_last_object,
        s.last_object,
        s.min_limit,
        s.max_limit,
    ];
    // A missing sample is u32::MAX: 255, which no slack reaches.
    let bytes = totals
        .into_iter()
        .chain(amounts)
        .chain([s.lowest_slack])
        .map(|units| units / UNIT);
    bytes
        .chain([s.window_start_ns as u32])
        .fold(0, |key, byte| key << 8 | u128::from(byte))
}

#[derive(Debug, PartialEq, Eq)]
struct Visited {
    states: usize,
    transitions: usize,
    /// States whose total queued has wrapped and whose total completed has not.
    across_the_wrap: usize,
    closed: bool,
}

/// Breadth first, until no new state is found or `max_states` are.
fn explore(
    start: Lockstep,
    max_states: usize,
    state: impl Fn(&Lockstep) -> Snapshot,
    operations: impl Fn(&Lockstep) -> Vec<Operation>,
) -> Visited {
    let mut seen = HashSet::from([key(&state(&start))]);
    let mut frontier = VecDeque::from([start]);
    let (mut transitions, mut across_the_wrap) = (0, 0);
    while let Some(from) = frontier.pop_front() {
        let snapshot = from.dql.snapshot();
        across_the_wrap += usize::from(snapshot.num_queued < snapshot.num_completed);
        for operation in operations(&from) {
            let mut to = from.clone();
            to.apply(operation);
            transitions += 1;
            if seen.len() < max_states && seen.insert(key(&state(&to))) {
                frontier.push_back(to);
            }
        }
    }
    Visited {
        states: seen.len(),
        transitions,
        across_the_wrap,
        closed: seen.len() < max_states,
    }
}

/// A sender that stops if there is no room, and some of whose sends fail.
fn polite(lockstep: &Lockstep) -> Vec<Operation> {
    let mut operations = vec![
        Operation::Complete(0),
        Operation::Complete(1),
        Operation::CompleteHalf,
        Operation::CompleteAll,
        Operation::CompleteTooMuch,
        Operation::Unqueue(lockstep.dql.snapshot().last_object / UNIT),
        Operation::Tick,
        Operation::Reset,
    ];
    if lockstep.dql.has_room() {
        operations.extend([0, 1, 2, 15].map(Operation::Queue));
    }
    operations
}

/// Any operation: above the limit up to 127 units in flight, and settings at any time.
fn rude(_: &Lockstep) -> Vec<Operation> {
    vec![
        Operation::Queue(0),
        Operation::Queue(1),
        Operation::Queue(15),
        Operation::Queue(16),
        Operation::Complete(0),
        Operation::Complete(1),
        Operation::CompleteHalf,
        Operation::CompleteAll,
        Operation::CompleteTooMuch,
        Operation::Unqueue(1),
        Operation::Unqueue(15),
        Operation::Repair(0),
        Operation::Repair(3),
        Operation::Repair(127),
        Operation::Tick,
        Operation::SetLimit(3),
        Operation::SetLimit(112),
        Operation::SetLimit(113),
        Operation::SetMin(2),
        Operation::SetMax(1),
        Operation::SetMax(112),
        Operation::Reset,
    ]
}

#[test]
fn every_state_of_a_polite_sender() {
    // The counts are part of the test: fewer states would mean less coverage.
    let visited = explore(Lockstep::new(0), 1_000_000, Lockstep::relative, polite);
    let all = Visited {
        states: 269_604,
        transitions: 2_687_456,
        across_the_wrap: 0,
        closed: true,
    };
    assert_eq!(visited, all);
}

#[test]
fn polite_sender_states_around_the_wrap() {
    let visited = explore(Lockstep::new(250), 1_000_000, Lockstep::relative, polite);
    let all = Visited {
        states: 269_604,
        transitions: 2_687_456,
        across_the_wrap: 32_612,
        closed: true,
    };
    assert_eq!(visited, all);
}

#[test]
fn states_of_a_rude_sender_around_the_wrap() {
    let visited = explore(Lockstep::new(250), 300_000, Lockstep::absolute, rude);
    let first = Visited {
        states: 300_000,
        transitions: 6_600_000,
        across_the_wrap: 82_800,
        closed: false,
    };
    assert_eq!(visited, first);
}

/// The same from 120 units in flight, where the next object can be too much, and where a wrapped
/// difference would first have the wrong sign.
#[test]
fn states_near_the_maximum_in_flight() {
    let mut start = Lockstep::new(250);
    for _ in 0..8 {
        start.apply(Operation::Queue(15));
    }
    let visited = explore(start, 300_000, Lockstep::absolute, rude);
    let first = Visited {
        states: 300_000,
        transitions: 6_600_000,
        across_the_wrap: 49_537,
        closed: false,
    };
    assert_eq!(visited, first);
}
