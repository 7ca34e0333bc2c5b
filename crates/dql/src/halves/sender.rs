//! The half of a queue that sends.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::{Error, Shared};

/// The half of the thread that queues. It can move to another thread, but two threads cannot use
/// it at the same time, not even to look:
///
/// ```compile_fail,E0277
/// # use taut_dql::{Sender, Shared};
/// fn look_from_two_threads(sender: &Sender<&'static Shared>) {
///     std::thread::scope(|scope| {
///         scope.spawn(|| sender.room());
///     });
/// }
/// ```
/// The same moves to one other thread without complaint:
/// ```
/// # use taut_dql::{Sender, Shared};
/// fn hand_over(sender: Sender<&'static Shared>) {
///     std::thread::spawn(move || sender.room());
/// }
/// ```
#[derive(Debug)]
pub struct Sender<S> {
    pub(super) shared: S,
    pub(super) not_sync: PhantomData<Cell<()>>,
}

impl<S: Deref<Target = Shared>> Sender<S> {
    /// Counts one object as handed to the device. Call it before the device can see the object,
    /// or its completion may be counted first and refused.
    ///
    /// Nothing is refused for being over the limit: ask [`has_room`](Sender::has_room) after each
    /// object and stop when it says no. An object of 0 units is counted and takes no room, so a
    /// loop that queues nothing else while there is room never ends.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](crate::MAX_OBJECT), and
    /// [`Error::TooMuchInFlight`] when 2^31 units or more would be in flight, as far as this
    /// thread can see: a completion of this very moment may not count yet.
    #[inline]
    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.shared.ledger.queued(units)
    }

    /// Takes back the object queued last, because it could not be handed to the device after all: a
    /// send that failed. As if it had never been queued, except that the size of the object before
    /// it is not known any more. The room is back at once: a sender that was stopped for this
    /// object must look again, since no completion will tell it.
    ///
    /// This is safe beside a completer because the device never saw the object: whatever is
    /// completed meanwhile is of older objects, so what is in flight without it is never below 0. A
    /// completer that already read the larger total has decided one interval with this object in
    /// it: at its next completion the limit may grow by that much less. The totals themselves are
    /// right at once.
    ///
    /// **Not safe beside
    /// [`Completer::observe_in_flight`](crate::Completer::observe_in_flight)**, which takes an
    /// object that is queued and not in the device for a finished one; see there.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] when `units` is not the size of the object queued last, and the
    /// second time for one object; [`Error::AlreadyCompleted`] when it was reported completed, as far
    /// as this thread can see.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.shared.ledger.unqueue_last(units)
    }

    /// Units left below the limit; one more object may be queued while it is `>= 0`. The completer
    /// may raise or lower it at any time. See [the crate](crate#two-threads) on stopping a sender.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        self.shared.ledger.room()
    }

    /// Whether one more object may be queued.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.shared.ledger.has_room()
    }

    /// Units queued and not yet completed, below 2^31; the completer may lower it at any time.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.shared.ledger.in_flight()
    }

    /// Total units queued since the last reset, wrapping.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        let total = self.shared.ledger.num_queued();
        total.wrapping_sub(self.shared.base())
    }

    /// How many resets there have been, wrapping; only [`reset`](crate::reset()) changes it.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.shared.epoch()
    }
}
