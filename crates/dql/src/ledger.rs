//! The totals of a queue: the one place where units in flight are counted.
//!
//! Totals wrap at 2^32 and only go up. They are compared through their differences, which stay
//! below 2^31. Each number has one writer, which reads its own number back with a plain load; there
//! are no private copies. The numbers of the sender and those of the completer are on cache lines
//! of their own where two threads share them.
//!
//! On one thread, `queued` and `allowed` are rebased at each completion: `queued` is then the units
//! in flight and `allowed` is the limit. This saves two subtractions for each object; nothing else
//! differs.

use crate::bounds::{MAX_IN_FLIGHT, MAX_OBJECT};
use crate::counter::check_object;
use crate::limit::CompletionBatch;
use crate::sharing::{Local, Packed, Sharing, Wide, Word};
use crate::{Error, counter};

#[cfg(all(not(loom), target_has_atomic = "8", target_has_atomic = "32"))]
use crate::sharing::{CacheAligned, Threads};

/// The totals of one queue.
///
/// The caller ensures that one thread at a time calls the sender's methods, and one the
/// completer's.
#[derive(Clone, Debug)]
pub struct Ledger<M: Sharing> {
    sender: M::Line<SenderLine<M>>,
    completer: M::Line<CompleterLine<M>>,
}

/// Written by the sender only.
#[derive(Clone, Debug)]
struct SenderLine<M: Sharing> {
    /// Total queued, above the base.
    queued: M::Word,
    last_object: M::Word,
    /// Times that something was to be sent and the limit had no room.
    blocked: M::Word,
    /// The completer's last request that the sender answered.
    answered: M::Word,
    /// The answer: when the sender queued first after the request, in ns.
    returned_ns: M::Wide,
}

/// Written by the completer only.
#[derive(Clone, Debug)]
struct CompleterLine<M: Sharing> {
    /// The total up to which the sender may queue, above the base.
    allowed: M::Word,
    num_completed: M::Word,
    /// Requests so far for the time of the next object. The first object of all answers one.
    requested: M::Word,
}

macro_rules! new_ledger {
    ($limit:expr, $word:expr, $wide:expr, $sender:expr, $completer:expr) => {
        Self {
            sender: $sender(SenderLine {
                queued: $word(0),
                last_object: $word(0),
                blocked: $word(0),
                answered: $word(0),
                returned_ns: $wide(0),
            }),
            completer: $completer(CompleterLine {
                allowed: $word($limit),
                num_completed: $word(0),
                requested: $word(1),
            }),
        }
    };
}

impl Ledger<Local> {
    /// A ledger for one thread, with nothing queued.
    pub(crate) const fn local(limit: u32) -> Self {
        use core::cell::Cell;
        new_ledger!(limit, Cell::new, Cell::new, Packed, Packed)
    }
}

#[cfg(all(not(loom), target_has_atomic = "8", target_has_atomic = "32"))]
impl Ledger<Threads> {
    /// A ledger for two threads, with nothing queued.
    pub(crate) const fn threads(limit: u32) -> Self {
        use crate::sync::{AtomicU32, SingleWriterU64};
        new_ledger!(
            limit,
            AtomicU32::new,
            SingleWriterU64::new,
            CacheAligned,
            CacheAligned
        )
    }
}

impl<M: Sharing> Ledger<M> {
    /// A ledger with nothing queued, under `limit`.
    pub fn new(limit: u32) -> Self {
        new_ledger!(
            limit,
            M::Word::new,
            M::Wide::new,
            M::Line::from,
            M::Line::from
        )
    }

    /// The total that the stored numbers count from. It moves on one thread only.
    #[inline]
    fn base(&self) -> u32 {
        if M::SHARED {
            0
        } else {
            self.completer.num_completed.load()
        }
    }

    /// Total completed, above the base.
    #[inline]
    fn completed_above_base(&self) -> u32 {
        if M::SHARED {
            self.completer.num_completed.load()
        } else {
            0
        }
    }

    /// Units in flight, as any thread can see them: never negative, but the two totals might be of
    /// two moments.
    pub fn in_flight(&self) -> u32 {
        // Completed first: it never overtakes the total queued.
        let completed = self.num_completed();
        counter::positive_difference(self.num_queued(), completed)
    }

    /// Total units queued, wrapping.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        self.sender.queued.load_acquire().wrapping_add(self.base())
    }

    /// Total units completed, wrapping.
    #[inline]
    pub fn num_completed(&self) -> u32 {
        self.completer.num_completed.load_acquire()
    }

    /// The total up to which the sender may queue, wrapping.
    #[inline]
    pub fn allowed(&self) -> u32 {
        self.completer.allowed.load().wrapping_add(self.base())
    }

    /// Units of the object that was queued last; 0 if it was taken back.
    #[inline]
    pub fn last_object(&self) -> u32 {
        self.sender.last_object.load()
    }
}

/// The sender's methods.
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

    /// The current limit. If a completer runs at the same time, its two totals might be of two
    /// moments, and the result wrong by one completion batch.
    pub fn limit(&self) -> u32 {
        let allowed = self.completer.allowed.load();
        counter::positive_difference(allowed, self.completed_above_base())
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

    /// Removes the objects that were queued last, which the device has not seen and never will. A
    /// completer that read the larger total takes them for objects still in flight.
    pub fn unqueue(&self, units: u32) {
        let queued = self.sender.queued.load();
        self.sender.queued.store_release(queued.wrapping_sub(units));
    }

    /// Removes the object queued last, which the device has not seen. The size of the object before
    /// it is unknown afterwards.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] if `units` is not the size of the object queued last, and the second
    /// time for one object; [`Error::AlreadyCompleted`] if less is in flight.
    pub fn unqueue_last(&self, units: u32) -> Result<(), Error> {
        let (last_object, in_flight) = (self.last_object(), self.in_flight());
        if units != last_object {
            return Err(Error::NotQueuedLast { units, last_object });
        }
        // First in, first out: while less than all of it is in flight, some of it is completed.
        if units > in_flight {
            return Err(Error::AlreadyCompleted { units, in_flight });
        }
        self.set_last_object(0);
        self.unqueue(units);
        Ok(())
    }

    /// Sets the size of the object queued last; 0 is unknown.
    pub fn set_last_object(&self, units: u32) {
        self.sender.last_object.store(units);
    }

    /// Counts `times` that something was to be sent and the limit had no room.
    pub fn note_blocked(&self, times: u32) {
        let blocked = self.sender.blocked.load();
        self.sender.blocked.store(blocked.wrapping_add(times));
    }

    /// Answers the completer's request for the time of the next object, if there is one. Must be
    /// called before the object is counted.
    #[inline]
    pub fn answer(&self, now_ns: u64) {
        let requested = self.completer.requested.load();
        if requested != self.sender.answered.load() {
            self.sender.returned_ns.store(now_ns);
            // Release: a thread that sees the answer sees the time that belongs to it.
            self.sender.answered.store_release(requested);
        }
    }
}

/// The completer's methods.
impl<M: Sharing> Ledger<M> {
    /// Makes the record of a completion batch: the only place that does. The fields that only some
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
            sender_returned_ns: None,
            times_blocked: 0,
            rate_per_s: 0,
        })
    }

    /// Units completed according to a level of `observed` units that the device still holds.
    /// Nothing is counted yet.
    ///
    /// # Errors
    /// [`Error::ObservedTooMuch`] for more than is in flight.
    pub fn completed_by_level(&self, observed: u32) -> Result<u32, Error> {
        let in_flight = counter::positive_difference(self.completer_in_flight(), 0);
        let error = Error::ObservedTooMuch {
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

    /// When the sender queued first after the last request, in ns; `None` if it has not yet.
    #[inline]
    pub fn returned_ns(&self) -> Option<u64> {
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
    /// now. Nothing may be queued or completed at the same time. Returns the excess, which is
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

    /// Requests the time of the next object, unless a request is open. Must be called before the
    /// room is published: a sender that finds the room then finds the request.
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
fn check_far_above(after: u32, units: u32) -> Result<(), Error> {
    check_object(after.wrapping_sub(units), units).map(drop)
}

#[cold]
#[inline(never)]
fn over_completion(units: u32, in_flight: u32) -> Error {
    Error::OverCompletion {
        units,
        in_flight: counter::positive_difference(in_flight, 0),
    }
}
