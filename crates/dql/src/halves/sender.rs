//! The half of a queue that sends.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;

use super::shared::Shared;
use crate::Error;

/// The half of the thread that queues. It can move to another thread, but two threads cannot use it
/// at the same time, not even to read:
///
/// ```compile_fail,E0277
/// # use taut_dql::{Sender, Shared};
/// fn look_from_two_threads(sender: &Sender<&'static Shared>) {
///     std::thread::scope(|scope| {
///         scope.spawn(|| sender.room());
///     });
/// }
/// ```
/// It can move to one other thread:
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
    /// Counts one object as passed to the device. Call it before the device can see the object:
    /// otherwise its completion might be counted first and rejected.
    ///
    /// An object above the limit is not rejected: check [`has_room`](Sender::has_room) after each
    /// object, and stop when it returns `false`. An object of 0 units is counted and takes no room,
    /// so a loop that queues only such objects while there is room never ends.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](crate::MAX_OBJECT), and
    /// [`Error::TooMuchInFlight`] if 2^31 units or more would be in flight as seen by this thread.
    /// A completion that runs at the same time might not count yet.
    #[inline]
    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.shared.ledger.queued(units)
    }

    /// Removes the object queued last, because the send failed and the device never saw it. A
    /// second `unqueue` without a `queued` in between returns [`Error::NotQueuedLast`]. The room is
    /// available immediately. A sender that this object stopped must check the room again, because
    /// no completion wakes it.
    ///
    /// This is safe while a completer runs. The device never saw the object, so completions are of
    /// older objects, and the units in flight never fall below 0. The totals are correct
    /// immediately. A completer that already read the larger total processed one interval that
    /// includes the object. At its next completion the limit might grow less by that amount.
    ///
    /// **Not safe together with
    /// [`Completer::observe_in_flight`](crate::Completer::observe_in_flight)**, which counts an
    /// object that is queued and not in the device as completed; see there.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] if `units` is not the size of the object queued last, or if that
    /// object was already removed; [`Error::AlreadyCompleted`] if this thread already reads it as
    /// completed.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.shared.ledger.unqueue_last(units)
    }

    /// Returns the units left below the limit. One more object may be queued while it is `>= 0`.
    /// The completer can raise or lower it at any time. See [the crate](crate#two-threads) on
    /// stopping a sender.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        self.shared.ledger.room()
    }

    /// Returns `true` if one more object may be queued.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.shared.ledger.has_room()
    }

    /// Returns the units queued and not yet completed, below 2^31. The completer can lower it at
    /// any time.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.shared.ledger.in_flight()
    }
}
