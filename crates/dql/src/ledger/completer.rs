//! The completer's methods of a ledger.

use super::Ledger;
use crate::bounds::MAX_IN_FLIGHT;
use crate::limit::CompletionBatch;
use crate::sharing::{Sharing, Wide, Word};
use crate::{Error, counter};

/// Methods of the completer.
impl<M: Sharing> Ledger<M> {
    /// Makes the record of a completion batch. Nothing is counted yet. The fields that only some
    /// rules need are left empty; see [`Needs`](crate::limit::Needs).
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight, or if the ledger is below zero because
    /// an object was removed that had also been completed.
    #[inline]
    pub fn batch(
        &self,
        units: u32,
        more_pending: bool,
        now_ns: u64,
    ) -> Result<CompletionBatch, Error> {
        let in_flight = self.completer_in_flight();
        if (units | in_flight.wrapping_sub(units)) > MAX_IN_FLIGHT {
            return Err(over_completion(units, in_flight));
        }
        Ok(CompletionBatch {
            now_ns,
            units,
            in_flight,
            last_object: self.sender.last_object.load(),
            more_pending,
            ring_units: self.sender.ring_units.load(),
            sender_returned_ns: None,
            times_blocked: 0,
            rate_per_s: 0,
        })
    }

    /// Units completed according to a level of `observed` units that the device still holds.
    /// Nothing is counted yet.
    ///
    /// # Errors
    /// [`Error::ObservedAboveInFlight`] for more than is in flight.
    pub fn completed_by_level(&self, observed: u32) -> Result<u32, Error> {
        let in_flight = counter::positive_difference(self.completer_in_flight(), 0);
        let error = Error::ObservedAboveInFlight {
            observed,
            in_flight,
        };
        in_flight.checked_sub(observed).ok_or(error)
    }

    /// Units in flight. The sender can raise it at any time. A ledger below zero reads as more than
    /// [`MAX_IN_FLIGHT`].
    #[inline]
    pub fn completer_in_flight(&self) -> u32 {
        let queued = self.sender.queued.load_acquire();
        queued.wrapping_sub(self.completed_above_base())
    }

    /// Time at which the sender returned, in ns: it queued its first object after the last
    /// [request](Self::request_return_time). `None` if it has not returned yet.
    #[inline]
    pub fn sender_returned_ns(&self) -> Option<u64> {
        let answered = self.sender.answered.load_acquire() == self.completer.requested.load();
        answered.then(|| self.sender.returned_ns.load())
    }

    /// Times that the sender was blocked, wrapping.
    #[inline]
    pub fn times_blocked(&self) -> u32 {
        self.sender.blocked.load()
    }

    /// Counts `units`, at most those in flight, and publishes the room below `limit`.
    #[inline]
    pub fn completed(&self, units: u32, limit: u32) {
        let num_completed = self.completer.num_completed.load().wrapping_add(units);
        if M::SHARED {
            self.completer
                .allowed
                .store(limit.wrapping_add(num_completed));
        } else {
            let queued = self.sender.queued.load();
            self.sender.queued.store(queued.wrapping_sub(units));
            self.completer.allowed.store(limit);
        }
        // Release: an observer that sees this total also sees that as much was queued.
        self.completer.num_completed.store_release(num_completed);
    }

    /// Corrects the units in flight: an excess counts as completed, missing units count as queued
    /// now. Nothing must be queued or completed at the same time. Returns the excess, which is
    /// negative if units were missing.
    pub fn set_in_flight(&self, units: u32, limit: u32) -> i64 {
        let excess = i64::from(self.completer_in_flight() as i32) - i64::from(units);
        if excess < 0 {
            // At most 2^32 - 1: both are within 2^31 of 0.
            let missing = excess.unsigned_abs() as u32;
            let queued = self.sender.queued.load();
            self.sender
                .queued
                .store_release(queued.wrapping_add(missing));
        }
        self.completed(self.completer_in_flight().wrapping_sub(units), limit);
        excess
    }

    /// Requests the time at which the sender returns, unless a request is open. Must be called
    /// before the room is published: a sender that finds the room then finds the request.
    #[inline]
    pub fn request_return_time(&self) {
        let requested = self.completer.requested.load();
        if self.sender.answered.load() == requested {
            let next = requested.wrapping_add(1);
            self.completer.requested.store_release(next);
        }
    }
}

#[cold]
#[inline(never)]
fn over_completion(units: u32, in_flight: u32) -> Error {
    Error::OverCompletion {
        units,
        in_flight: counter::positive_difference(in_flight, 0),
    }
}
