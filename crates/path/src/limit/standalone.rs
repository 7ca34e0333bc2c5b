//! A rule with a ledger, for users without packets or a ring of this crate.

use taut_dql::control::Control;
use taut_dql::ledger::Ledger;
use taut_dql::sharing::Local;
use taut_dql::{Config, Error};

use super::Limit;
use crate::rate::RateMeter;

/// A rule and its ledger, owned by one thread (or one lock): a limit for anything that is queued
/// and completes. It works as the limit of [`Queue`](crate::Queue), without packets, and allocates
/// nothing.
///
/// ```
/// use taut_path::limit::{Dynamic, StandaloneLimit};
///
/// let mut limit = StandaloneLimit::new(Dynamic::default(), 0);
/// while limit.has_room() {
///     limit.queued(1514, 0)?; // before the device can see it
/// }
/// limit.blocked(); // there is more to send
/// limit.completed(1514, false, 100_000)?; // once for each completion batch
/// assert_eq!((limit.limit(), limit.in_flight()), (1514, 0));
/// # Ok::<(), taut_dql::Error>(())
/// ```
/// Amounts are in units of the rule; times are ns of a clock that does not go back.
#[derive(Debug, Clone)]
pub struct StandaloneLimit<L: ?Sized> {
    ledger: Ledger<Local>,
    /// The last field, so that a `StandaloneLimit<dyn Limit>` stands for any rule.
    control: Control<L>,
}

impl<L: Limit> StandaloneLimit<L> {
    /// The rule with nothing queued.
    pub fn new(rule: L, now_ns: u64) -> Self {
        let control = Control::new(rule, now_ns);
        Self {
            ledger: Ledger::new(control.limit()),
            control,
        }
    }
}

impl<L: Limit + ?Sized> StandaloneLimit<L> {
    /// Counts one object. Must be called before the device can see it.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](taut_dql::MAX_OBJECT);
    /// [`Error::TooMuchInFlight`] if 2^31 units or more would be in flight. Nothing is counted
    /// then.
    #[inline]
    pub fn queued(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.ledger.queued(units)?;
        self.ledger.record_return(now_ns);
        Ok(())
    }

    /// Removes the object queued last, because the send failed and the device never saw it.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] if `units` is not its size, or if it was already removed;
    /// [`Error::AlreadyCompleted`] if less is in flight.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.ledger.unqueue_last(units)
    }

    /// Removes units in flight that will never reach the device, at most all of them. The rule does
    /// not learn from them.
    pub fn abandon(&mut self, units: u32) {
        self.ledger.subtract_queued(units.min(self.in_flight()));
    }

    /// Counts that an object was to be sent and there was no room. Some rules use it.
    pub fn blocked(&mut self) {
        self.ledger.note_blocked(1);
    }

    /// Counts completed units from a level: the device still holds `units`. Returns the units
    /// completed; 0 changes nothing.
    ///
    /// # Errors
    /// [`Error::ObservedAboveInFlight`] for more than is in flight; nothing is counted then.
    pub fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        let done = self.ledger.completed_by_level(units)?;
        self.completed(done, false, now_ns)?;
        Ok(done)
    }

    /// Counts the units completed since the last call, and updates the limit. Must be called once
    /// per completion batch. `more_pending` means that the reap stopped at its budget and will be
    /// continued; a batch of 0 units without it closes such a reap. Any other batch of 0 units
    /// changes nothing.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight; nothing is counted then.
    #[inline]
    pub fn completed(&mut self, units: u32, more_pending: bool, now_ns: u64) -> Result<(), Error> {
        if self.control.must_pass(units) {
            let more_pending = more_pending && units > 0;
            let batch = self.ledger.batch(units, more_pending, now_ns)?;
            self.control.completed(&self.ledger, batch, false, |_| ());
        }
        Ok(())
    }

    /// Forgets the units in flight and the state of the rule, except its settings and the rate.
    /// Call it after the device was flushed.
    pub fn reset(&mut self, now_ns: u64) {
        self.ledger.set_last_object(0);
        self.control.reset(&self.ledger, 0, now_ns);
    }

    /// Returns the units left below the limit; one more object may be queued while it is at least
    /// 0.
    #[inline]
    pub fn room(&self) -> i64 {
        self.ledger.room().into()
    }

    /// Returns `true` if one more object may be queued.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ledger.has_room()
    }

    /// Returns the units queued and not yet completed, below 2^31.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.ledger.in_flight()
    }

    /// Returns the limit that the ledger applies, in units.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.control.limit()
    }

    /// Returns the rate of the device, in units per second, if the rule needs it; 0 while it is
    /// unknown.
    pub fn rate_per_s(&self) -> u64 {
        self.control.rate().map_or(0, RateMeter::units_per_s)
    }

    /// Returns the rule, for its unit and its settings.
    pub fn rule(&self) -> &L {
        self.control.rule()
    }

    /// Changes the settings of the rule.
    ///
    /// # Errors
    /// Those of [`Limit::set_config`].
    pub fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.control.set_config(config)?;
        self.control.publish(&self.ledger);
        Ok(())
    }
}
