//! Operations that correct a ledger, for both variants.

use taut_dql::{Dql, Error, repair};

use crate::queue::{Halves, Queue};

/// Operations of tests only; the players of `examples/support` have no lines for them.
pub trait Repair: Queue {
    fn unqueue(&mut self, units: u32) -> Result<(), Error>;
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error>;
    fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error>;
}

impl Repair for Dql {
    fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.unqueue(units)
    }
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        self.observe_in_flight(units, now_ns)
    }
    fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        self.repair(in_flight, now_ns)
    }
}

impl Repair for Halves {
    fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.sender.unqueue(units)
    }
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        self.completer.observe_in_flight(units, now_ns)
    }
    fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        repair(&mut self.sender, &mut self.completer, in_flight, now_ns)
    }
}
