//! The half of a queue that completes.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::limit::Limit;
use crate::side::CompletingSide;
use crate::{Config, Error, Shared, Snapshot};

/// The half of the thread that reaps what the device finished, and the only one that moves the
/// limit. It can move to another thread, but two threads cannot use it at the same time:
///
/// ```compile_fail,E0277
/// # use taut_dql::{Completer, Shared};
/// fn look_from_two_threads(completer: &Completer<&'static Shared>) {
///     std::thread::scope(|scope| {
///         scope.spawn(|| completer.room());
///     });
/// }
/// ```
#[derive(Debug)]
pub struct Completer<S> {
    pub(super) shared: S,
    pub(super) side: CompletingSide,
    pub(super) not_sync: PhantomData<Cell<()>>,
}

impl<S: Deref<Target = Shared>> Completer<S> {
    /// Counts what the device finished since the last call, and moves the limit. Call it once for
    /// each round in which something completed.
    ///
    /// **Do not call it when nothing completed**: 0 units is a round too, and counts as a sample of
    /// an interval in which nothing was needed. A poller that does so every 10 us halves its limit.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.side.completed(&self.shared.ledger, units, now_ns)?;
        self.shared.publish(&self.side);
        Ok(())
    }

    /// Counts what the device finished when it says how much is still outstanding: a level, and not
    /// what was completed since. Returns how many units completed by it. A level at which nothing
    /// completed is no sample and changes nothing, so this may be called as often as one likes.
    ///
    /// Take the level while the sender is not between [`queued`](crate::Sender::queued) and the
    /// device having the object, or after the sender said that it has: with one lock around both,
    /// or on one thread (a [`Dql`](crate::Dql)). An object that is queued and not in the level
    /// counts as finished. Without failed sends that mends itself, since the next levels count it
    /// again: they are refused until they have come down to what the ledger says. But an object
    /// that counts as finished and is then taken back may bring the ledger below 0. That is refused
    /// by every completion as [`Error::OverCompletion`] until a [`repair`](crate::repair).
    ///
    /// # Errors
    /// [`Error::ObservedAboveInFlight`] for more than is in flight.
    pub fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        let done = self.shared.ledger.completed_by_level(units)?;
        if done > 0 {
            self.completed(done, now_ns)?;
        }
        Ok(done)
    }

    /// Units left below the limit, with the sender's total read again; the sender may lower it
    /// at any time. For the side that restarts a stopped sender.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        self.shared.ledger.room()
    }

    /// Whether one more object may be queued, with the sender's total read again.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Units queued and not yet completed, below 2^31; the sender may raise it at any time.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.shared.ledger.in_flight()
    }

    /// Total units queued since the last reset, wrapping; the sender may raise it at any time.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        self.shared.ledger.num_queued().wrapping_sub(self.side.base)
    }

    /// Total units completed since the last reset, wrapping.
    #[inline]
    pub fn num_completed(&self) -> u32 {
        let total = self.shared.ledger.num_completed();
        total.wrapping_sub(self.side.base)
    }

    /// The limit, in units. A limit set by hand is shown at once and in force from the next
    /// completion on.
    #[must_use]
    #[inline]
    pub fn limit(&self) -> u32 {
        self.side.rule.limit()
    }

    /// How many resets there have been, wrapping; only [`reset`](crate::reset()) changes it.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.side.epoch
    }

    /// Sets the limit by hand, in units; the sender sees it at the next completion, which also
    /// brings it between its bounds.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT).
    pub fn set_limit(&mut self, limit: u32) -> Result<(), Error> {
        self.set(|config| config.limit = limit)
    }

    /// Sets the lower bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// above the upper bound in force.
    pub fn set_min_limit(&mut self, min_limit: u32) -> Result<(), Error> {
        self.set(|config| config.min_limit = min_limit)
    }

    /// Sets the upper bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// below the lower bound in force.
    pub fn set_max_limit(&mut self, max_limit: u32) -> Result<(), Error> {
        self.set(|config| config.max_limit = max_limit)
    }

    /// Sets how long slack is observed before the limit is cut.
    pub fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        let set = self.set(|config| config.hold_time_ns = hold_time_ns);
        debug_assert!(set.is_ok(), "every hold time is valid");
    }

    /// The settings in force; `limit` is the limit of now.
    pub fn config(&self) -> Config {
        self.side.rule.config()
    }

    /// Everything at this moment; the sender may change its side (`num_queued`, `last_object`
    /// and what follows from them) at any time.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.side.snapshot(&self.shared.ledger)
    }

    fn set(&mut self, change: impl FnOnce(&mut Config)) -> Result<(), Error> {
        self.side.set(change)?;
        self.shared.publish_all(&self.side);
        Ok(())
    }
}
