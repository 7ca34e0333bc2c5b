//! The sender's methods of a ledger.

use super::Ledger;
use crate::bounds::MAX_OBJECT;
use crate::counter::check_object;
use crate::sharing::{Sharing, Wide, Word};
use crate::{Error, counter};

/// Methods of the sender.
impl<M: Sharing> Ledger<M> {
    /// Units left below the limit: one more object may be queued while it is at least 0. The
    /// completer can change it at any time.
    #[inline]
    pub fn room(&self) -> i32 {
        let allowed = self.completer.allowed.load();
        allowed.wrapping_sub(self.sender.queued.load()) as i32
    }

    /// Returns `true` if one more object may be queued. The completer can change it at any time.
    #[inline]
    pub fn has_room(&self) -> bool {
        if M::SHARED {
            self.room() >= 0
        } else {
            self.sender.queued.load() <= self.completer.allowed.load()
        }
    }

    /// The current limit. If a completer runs at the same time, the result can be too high by one
    /// completion batch.
    pub fn limit(&self) -> u32 {
        loop {
            // Acquire: the three loads are in this order. A reader that is interrupted between two
            // of them repeats them.
            let completed = self.completed_above_base();
            let allowed = self.completer.allowed.load_acquire();
            if self.completed_above_base() == completed {
                return counter::positive_difference(allowed, completed);
            }
        }
    }

    /// Counts one object. Must be called before the device can see the object.
    ///
    /// # Errors
    /// As for [`check_object`]; nothing is counted.
    #[inline]
    pub fn queued(&self, units: u32) -> Result<(), Error> {
        self.queued_together(units, units)
    }

    /// Counts objects of `units` together, the last of which has `last_object`. Must be called
    /// before the device can see the first of them.
    ///
    /// # Errors
    /// As for [`check_object`] with `units`; nothing is counted.
    #[inline]
    pub fn queued_together(&self, units: u32, last_object: u32) -> Result<(), Error> {
        let queued = self.sender.queued.load();
        let total = if M::SHARED {
            let total = queued.wrapping_add(units);
            let room = self.completer.allowed.load().wrapping_sub(total) as i32;
            // The units in flight are the limit less the room, and no limit is above MAX_LIMIT:
            // only an object that goes far beyond the limit can be too much.
            if room.wrapping_add(MAX_OBJECT as i32) < 0 || units > MAX_OBJECT {
                check_far_above(total.wrapping_sub(self.completed_above_base()), units)?;
            }
            total
        } else {
            check_object(queued, units)?
        };
        self.sender.last_object.store(last_object);
        // Release: a thread that sees this total sees its object, or a later one.
        self.sender.queued.store_release(total);
        Ok(())
    }

    /// Subtracts the units of objects that were queued last and that the device never sees, without
    /// a check. More units than in flight bring the ledger below 0. A completer that already read
    /// the larger total counts the objects as in flight until it reads the total again.
    pub fn subtract_queued(&self, units: u32) {
        let queued = self.sender.queued.load();
        self.sender.queued.store_release(queued.wrapping_sub(units));
    }

    /// Removes the object queued last, which the device has not seen. A second call without an
    /// object queued in between returns [`Error::NotQueuedLast`].
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] if `units` is not the size of the object queued last, or if that
    /// object was already removed; [`Error::AlreadyCompleted`] if less is in flight.
    pub fn unqueue_last(&self, units: u32) -> Result<(), Error> {
        let (last_object, in_flight) = (self.last_object(), self.in_flight());
        if units != last_object {
            return Err(Error::NotQueuedLast { units, last_object });
        }
        // FIFO order: while less than all of it is in flight, some of it is completed.
        if units > in_flight {
            return Err(Error::AlreadyCompleted { units, in_flight });
        }
        self.set_last_object(0);
        self.subtract_queued(units);
        Ok(())
    }

    /// Sets the size of the object queued last; 0 is unknown.
    pub fn set_last_object(&self, units: u32) {
        self.sender.last_object.store(units);
    }

    /// Records that the limit had no room for a packet that was ready to be sent, `times` more.
    pub fn note_blocked(&self, times: u32) {
        let blocked = self.sender.blocked.load();
        self.sender.blocked.store(blocked.wrapping_add(times));
    }

    /// Records that the ring filled before the limit did: it holds the units in flight. The last
    /// object is subtracted, because a limit admits one object more.
    pub fn note_ring_full(&self) {
        let below_last = self.in_flight().saturating_sub(self.last_object());
        self.sender.ring_units.store(below_last.max(1));
    }

    /// Records that the limit stops the sender while much of the ring is free.
    pub fn note_ring_free(&self) {
        self.sender.ring_units.store(u32::MAX);
    }

    /// Returns `true` if the ring filled before the limit did, and no
    /// [`note_ring_free`](Self::note_ring_free) followed.
    pub fn is_ring_limiting(&self) -> bool {
        self.sender.ring_units.load() != u32::MAX
    }

    /// Records that the sender returned at `now_ns`: it is about to queue its first object after a
    /// [request](Self::request_return_time) of the completer. Call it before each object is
    /// counted; without an open request it does nothing.
    #[inline]
    pub fn record_return(&self, now_ns: u64) {
        let requested = self.completer.requested.load();
        if requested != self.sender.answered.load() {
            self.sender.returned_ns.store(now_ns);
            // Release: a thread that sees the answer sees the time that belongs to it.
            self.sender.answered.store_release(requested);
        }
    }
}

#[cold]
#[inline(never)]
fn check_far_above(after: u32, units: u32) -> Result<(), Error> {
    check_object(after.wrapping_sub(units), units).map(drop)
}
