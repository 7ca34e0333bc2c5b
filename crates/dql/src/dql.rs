//! The limit for one thread.

use crate::ledger::Ledger;
use crate::limit::Limit;
use crate::sharing::Local;
use crate::side::CompletingSide;
use crate::{Config, Error, Snapshot};

/// A queue limit for one thread (or one lock): no atomics, works on every target.
///
/// Amounts are in units of the caller's choice. Times are nanoseconds of any clock that does not go
/// backwards. See the [crate] for an example.
#[derive(Clone, Debug)]
pub struct Dql {
    ledger: Ledger<Local>,
    side: CompletingSide,
}

impl Dql {
    /// A queue limit with the defaults of [`Config`]: it starts at 0 and grows on demand.
    pub const fn new(now_ns: u64) -> Self {
        Dql::from_valid(Config::DEFAULT, now_ns)
    }

    /// A queue limit with explicit settings. The errors are those of [`Config::validate`].
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

    /// Counts one object as passed to the device. Call it before the device can see the object.
    ///
    /// An object above the limit is not rejected: check [`has_room`](Dql::has_room) after each
    /// object, and stop when it returns `false`. An object of 0 units is counted and takes no room,
    /// so a loop that queues only such objects while there is room never ends.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](crate::MAX_OBJECT), and
    /// [`Error::TooMuchInFlight`] if 2^31 units or more would be in flight.
    #[inline]
    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.ledger.queued(units)
    }

    /// Removes the object queued last, because the send failed and the device never saw it. A
    /// second `unqueue` without a `queued` in between returns [`Error::NotQueuedLast`].
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] if `units` is not the size of the object queued last, or if that
    /// object was already removed; [`Error::AlreadyCompleted`] if it was reported completed.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.ledger.unqueue_last(units)
    }

    /// Returns the units left below the limit. One more object may be queued while it is `>= 0`, so
    /// a limit of 0 still admits one object, and a limit is exceeded by at most one object.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        self.ledger.room()
    }

    /// Returns `true` if one more object may be queued.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ledger.has_room()
    }

    /// Counts the units that the device completed since the last call, and updates the limit. Call
    /// it once for each completion batch.
    ///
    /// **Do not call it if nothing completed**: a batch of 0 units is a sample of an interval in
    /// which nothing was needed. See [the crate](crate#which-method-when) on pollers.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.side.completed(&self.ledger, units, now_ns)
    }

    /// Counts completions of a device that reports a level: the units that are still outstanding.
    /// Returns the number of units completed. A level at which nothing completed is not a sample
    /// and changes nothing, so this can be called at any rate.
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

    /// Corrects the ledger to the units that the device really holds, after completions were lost
    /// or counted twice, without a flush. The limit stays. A new interval and a new hold time
    /// begin. An excess counts as completed, missing units count as queued now. Returns the excess,
    /// which is negative if units were missing.
    ///
    /// # Errors
    /// [`Error::RepairTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT).
    pub fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        self.side.repair(&self.ledger, in_flight, now_ns)
    }

    /// Forgets the units in flight, and restarts from the lower bound of the limit. The settings
    /// stay. Call it after the device was flushed. The room is correct immediately.
    pub fn reset(&mut self, now_ns: u64) {
        self.side.reset(&self.ledger, now_ns);
    }

    /// Returns the units queued and not yet completed, below 2^31.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.ledger.completer_in_flight()
    }

    /// Returns the limit, in units. An explicitly set limit is returned immediately and takes
    /// effect at the next completion.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.side.rule.limit()
    }

    /// Changes all settings. A limit takes effect at the next completion, which also clamps it to
    /// its bounds.
    ///
    /// # Errors
    /// Those of [`Config::validate`]; nothing changes.
    pub fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.side.rule.set_config(config)
    }

    /// Returns the current settings; `limit` is the current limit.
    #[must_use]
    pub fn config(&self) -> Config {
        self.side.rule.config()
    }

    /// Returns the current state.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.side.snapshot(&self.ledger)
    }
}
