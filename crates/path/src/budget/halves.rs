//! A queue's own limit under the budget: a limit like any other to the queue.

use alloc::sync::Arc;

use taut_dql::{Error, Snapshot};

use super::Device;
use crate::limit::{Done, Limit, LimitCompleter, LimitKnob, LimitSender};

/// A queue's own limit, and its place at the budget.
pub struct Budgeted<L, R: Limit> {
    limit: L,
    place: Place<R>,
}

/// Which queue of which device.
struct Place<R: Limit> {
    device: Arc<Device<R>>,
    seat: usize,
}

/// Sender's half of [`Budgeted`].
pub struct BudgetedSender<L: Limit, R: Limit> {
    limit: L::Sender,
    place: Place<R>,
}

/// Completer's half of [`Budgeted`].
pub struct BudgetedCompleter<L: Limit, R: Limit> {
    limit: L::Completer,
    place: Place<R>,
}

impl<L, R: Limit> Budgeted<L, R> {
    pub(super) fn new(limit: L, device: Arc<Device<R>>, seat: usize) -> Self {
        let place = Place { device, seat };
        Self { limit, place }
    }
}

impl<R: Limit> Place<R> {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.device, &other.device) && self.seat == other.seat
    }

    fn give_back(&self, bytes: u64, now_ns: u64) {
        let Device { line, steward } = &*self.device;
        line.give_back(self.seat, bytes);
        steward.settle(line, now_ns);
    }

    fn in_flight_bytes(&self) -> u64 {
        self.device.line.seats[self.seat].in_flight_bytes()
    }
}

impl<L: Limit, R: Limit> Limit for Budgeted<L, R> {
    type Sender = BudgetedSender<L, R>;
    type Completer = BudgetedCompleter<L, R>;

    fn counts_bytes(&self) -> bool {
        self.limit.counts_bytes()
    }

    fn split(self, now_ns: u64) -> Result<(Self::Sender, Self::Completer), Error> {
        let (sender, completer) = self.limit.split(now_ns)?;
        let place = Place {
            device: self.place.device.clone(),
            seat: self.place.seat,
        };
        Ok((
            BudgetedSender {
                limit: sender,
                place: self.place,
            },
            BudgetedCompleter {
                limit: completer,
                place,
            },
        ))
    }

    /// What the queue had in flight counts as complete for the budget.
    fn reset(
        sender: &mut Self::Sender,
        completer: &mut Self::Completer,
        now_ns: u64,
    ) -> Result<(), Error> {
        if !sender.place.is(&completer.place) {
            return Err(Error::NotTheSameQueue);
        }
        L::reset(&mut sender.limit, &mut completer.limit, now_ns)?;
        let place = &completer.place;
        place.device.line.leave(place.seat);
        place.give_back(place.in_flight_bytes(), now_ns);
        place.device.line.start_next();
        Ok(())
    }
}

impl<L: Limit, R: Limit> LimitSender for BudgetedSender<L, R> {
    fn queued(&mut self, bytes: u32, now_ns: u64) -> Result<(), Error> {
        let Place { device, seat } = &self.place;
        device.line.can_count(bytes)?;
        self.limit.queued(bytes, now_ns)?;
        device.line.charge(*seat, bytes, now_ns);
        Ok(())
    }

    fn has_room(&self) -> bool {
        let Place { device, seat } = &self.place;
        if !self.limit.has_room() {
            // It waits for its own limit, and uses no room of the others'.
            device.line.leave(*seat);
            return false;
        }
        let may_send = device.line.may_send(*seat);
        if !may_send {
            // Before the gate is closed, so that whoever finds it closed finds the queue in line.
            device.line.enter(*seat);
        }
        may_send
    }

    fn in_flight(&self) -> u32 {
        self.limit.in_flight()
    }

    fn epoch(&self) -> u32 {
        self.limit.epoch()
    }

    /// A queue that only the budget holds back was not refused by its own limit.
    fn refused(&mut self) {
        if self.limit.has_room() {
            self.place.device.line.note_refused();
        } else {
            self.limit.refused();
        }
    }

    fn share_room(&self) {
        let Place { device, seat } = &self.place;
        if device.line.looks(*seat) {
            device.line.start_next();
        }
    }
}

impl<L: Limit, R: Limit> LimitCompleter for BudgetedCompleter<L, R> {
    fn completed(&mut self, done: Done, now_ns: u64, more: bool) -> Result<(), Error> {
        self.limit.completed(done, now_ns, more)?;
        // A limit in packets has no say about the bytes.
        let bytes = u64::from(done.bytes).min(self.place.in_flight_bytes());
        self.place.give_back(bytes, now_ns);
        Ok(())
    }

    fn has_room(&self) -> bool {
        let Place { device, seat } = &self.place;
        self.limit.has_room() && device.line.may_start(*seat)
    }

    fn share_room(&self) -> bool {
        let Place { device, seat } = &self.place;
        device.line.start_next() == Some(*seat)
    }

    fn tick(&mut self, now_ns: u64) -> Result<(), Error> {
        self.limit.tick(now_ns)
    }

    fn next_wakeup(&self) -> Option<u64> {
        self.limit.next_wakeup()
    }

    fn epoch(&self) -> u32 {
        self.limit.epoch()
    }

    fn snapshot(&self) -> Snapshot {
        self.limit.snapshot()
    }

    fn set(&mut self, knob: LimitKnob, bytes: u32) -> Result<(), Error> {
        self.limit.set(knob, bytes)
    }

    fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        self.limit.set_hold_time_ns(hold_time_ns);
    }
}
