//! The limit for one thread.

use crate::ledger::Ledger;
use crate::limit::Limit;
use crate::sharing::Local;
use crate::side::CompletingSide;
use crate::{Config, Error, Snapshot};

/// A queue limit that one thread (or one lock) owns: no atomics, works on every target.
///
/// Amounts are in units, whatever the caller counts in; times are nanoseconds of any clock that
/// does not go backwards. See the [crate] for an example.
#[derive(Clone, Debug)]
pub struct Dql {
    ledger: Ledger<Local>,
    side: CompletingSide,
}

impl Dql {
    /// A queue limit with the defaults of [`Config`]: it starts at 0 and grows as it is needed.
    pub const fn new(now_ns: u64) -> Self {
        Dql::from_valid(Config::DEFAULT, now_ns)
    }

    /// A queue limit with settings of the caller's. The errors are those of [`Config::validate`].
    pub fn with_config(config: Config, now_ns: u64) -> Result<Self, Error> {
        config.validate()?;
        Ok(Dql::from_valid(config, now_ns))
    }

    const fn from_valid(config: Config, now_ns: u64) -> Self {
        Dql {
            ledger: Ledger::local(config.limit),
            side: CompletingSide::from_valid(config, now_ns),
        }
    }

    /// Counts one object as handed to the device. Call it before the device can see the object.
    ///
    /// Nothing is refused for being over the limit: ask [`has_room`](Dql::has_room) after each
    /// object and stop when it says no. An object of 0 units is counted and takes no room, so a
    /// loop that queues nothing else while there is room never ends.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](crate::MAX_OBJECT), and
    /// [`Error::TooMuchInFlight`] when 2^31 units or more would be in flight.
    #[inline]
    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.ledger.queued(units)
    }

    /// Takes back the object queued last, because it could not be handed to the device after all: a
    /// send that failed. As if it had never been queued, except that the size of the object before
    /// it is not known any more.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] when `units` is not the size of the object queued last, and the
    /// second time for one object; [`Error::AlreadyCompleted`] when it was reported completed.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.ledger.unqueue_last(units)
    }

    /// Units left below the limit; one more object may be queued while it is `>= 0`, so a limit
    /// of 0 still lets one object through and a limit is exceeded by one object at most.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        self.ledger.room()
    }

    /// Whether one more object may be queued.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ledger.has_room()
    }

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
        self.side.completed(&self.ledger, units, now_ns)
    }

    /// Counts what the device finished when it says how much is still outstanding: a level, and not
    /// what was completed since. Returns how many units completed by it. A level at which nothing
    /// completed is no sample and changes nothing, so this may be called as often as one likes.
    ///
    /// # Errors
    /// [`Error::ObservedAboveInFlight`] for more than is in flight.
    pub fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        let done = self.ledger.completed_by_level(units)?;
        if done > 0 {
            self.completed(done, now_ns)?;
        }
        Ok(done)
    }

    /// Brings the ledger to what the device really holds, after completions were lost or counted
    /// twice, without flushing it. The limit stays; a new interval and a new window of slack begin;
    /// what is too much counts as completed, what was missing counts as queued now.
    /// Returns by how much the ledger said too much; below 0 when it said too little.
    ///
    /// # Errors
    /// [`Error::RepairTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT).
    pub fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        self.side.repair(&self.ledger, in_flight, now_ns)
    }

    /// Forgets what is in flight and starts again from the lower bound of the limit, with the
    /// settings kept; for when the device was flushed. The room is right at once.
    pub fn reset(&mut self, now_ns: u64) {
        self.side.reset(&self.ledger, now_ns);
    }

    /// How many resets there have been, wrapping. An object that remembers the epoch in which it
    /// was queued can be told from those of after a reset.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.side.epoch
    }

    /// Units queued and not yet completed, below 2^31.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.ledger.completer_in_flight()
    }

    /// The limit, in units. A limit set by hand is shown at once and in force from the next
    /// completion on.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.side.rule.limit()
    }

    /// Sets the limit by hand, in units; the room changes with the next completion, which also
    /// brings the limit between its bounds.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT).
    pub fn set_limit(&mut self, limit: u32) -> Result<(), Error> {
        self.side.set(|config| config.limit = limit)
    }

    /// Sets the lower bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// above the upper bound in force.
    pub fn set_min_limit(&mut self, min_limit: u32) -> Result<(), Error> {
        self.side.set(|config| config.min_limit = min_limit)
    }

    /// Sets the upper bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// below the lower bound in force.
    pub fn set_max_limit(&mut self, max_limit: u32) -> Result<(), Error> {
        self.side.set(|config| config.max_limit = max_limit)
    }

    /// Sets how long slack is observed before the limit is cut.
    pub fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        let set = self.side.set(|config| config.hold_time_ns = hold_time_ns);
        debug_assert!(set.is_ok(), "every hold time is valid");
    }

    /// Everything at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.side.snapshot(&self.ledger)
    }
}
