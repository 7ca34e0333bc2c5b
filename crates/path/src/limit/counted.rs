//! A rule with what it must be told, for whatever has no packets and no ring of this crate.

use taut_dql::{Config, Error, MAX_LIMIT, check_object};

use super::{Limit, Round};
use crate::rate::{RateMeter, RateRound};

/// A rule and its ledger, owned by one thread (or one lock): a limit for anything that is queued and
/// completes. What [`Queue`](crate::Queue) does with packets, without packets; it allocates nothing.
///
/// ```
/// use taut_path::limit::{Counted, Dynamic};
///
/// let mut limit = Counted::new(Dynamic::default(), 0);
/// while limit.has_room() {
///     limit.queued(1514, 0)?; // before the device can see it
/// }
/// limit.refused(); // there is more to send
/// limit.completed(1514, false, 100_000)?; // once a round of completions
/// assert_eq!((limit.limit(), limit.in_flight()), (1514, 0));
/// # Ok::<(), taut_dql::Error>(())
/// ```
/// Amounts are in units of the rule; times are ns of a clock that does not go back.
#[derive(Debug, Clone)]
pub struct Counted<L> {
    rule: L,
    num_queued: u32,
    num_completed: u32,
    last_object: u32,
    refusals: u32,
    /// When the sender queued first since the rule asked for it.
    returned_ns: Option<u64>,
    rate: Option<RateMeter>,
    /// The rule was told that more comes.
    chain_is_open: bool,
}

impl<L: Limit> Counted<L> {
    /// The rule with nothing queued.
    pub fn new(mut rule: L, now_ns: u64) -> Self {
        rule.begin(now_ns);
        let rate = rule.asks_rate().then(RateMeter::new);
        Self {
            rule,
            num_queued: 0,
            num_completed: 0,
            last_object: 0,
            refusals: 0,
            returned_ns: None,
            rate,
            chain_is_open: false,
        }
    }

    /// Counts one object as handed to the device. Call it before the device can see it.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](taut_dql::MAX_OBJECT);
    /// [`Error::TooMuchInFlight`] when 2^31 units or more would be in flight. Nothing is counted then.
    #[inline]
    pub fn queued(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        check_object(self.in_flight(), units)?;
        self.returned_ns.get_or_insert(now_ns);
        self.num_queued = self.num_queued.wrapping_add(units);
        self.last_object = units;
        Ok(())
    }

    /// Takes back the object queued last, which the device has not seen: a send that failed.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] when `units` is not its size, and the second time for one object;
    /// [`Error::AlreadyCompleted`] when less is in flight.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        let (last_object, in_flight) = (self.last_object, self.in_flight());
        if units != last_object {
            return Err(Error::NotQueuedLast { units, last_object });
        }
        if units > in_flight {
            return Err(Error::AlreadyCompleted { units, in_flight });
        }
        self.num_queued = self.num_queued.wrapping_sub(units);
        self.last_object = 0;
        Ok(())
    }

    /// Says that there is something to send and no room. A rule may learn from it.
    pub fn refused(&mut self) {
        self.refusals = self.refusals.wrapping_add(1);
    }

    /// Counts what the device finished when it says how many units are still outstanding, as [`completed`](Self::completed)
    /// does. Says how many finished.
    ///
    /// # Errors
    /// [`Error::ObservedTooMuch`] for more than is in flight; nothing is counted then.
    pub fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        let in_flight = self.in_flight();
        let done = in_flight.checked_sub(units).ok_or(Error::ObservedTooMuch {
            observed: units,
            in_flight,
        })?;
        self.completed(done, false, now_ns)?;
        Ok(done)
    }

    /// Counts what the device finished since the last call, and moves the limit. Call it once for
    /// each round in which something completed; `more` says that the round stopped at a budget and goes
    /// on, and a round of 0 units without it ends such a chain. Any other round of 0 changes nothing.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight; nothing is counted then.
    #[inline]
    pub fn completed(&mut self, units: u32, more: bool, now_ns: u64) -> Result<(), Error> {
        let in_flight = self.in_flight();
        if units > in_flight {
            return Err(Error::OverCompletion { units, in_flight });
        }
        if units == 0 && !self.chain_is_open {
            return Ok(());
        }
        let more = more && units > 0;
        let round = Round {
            now_ns,
            units,
            in_flight,
            num_queued: self.num_queued,
            last_object: self.last_object,
            more,
            returned_ns: self.returned_ns.map(|at_ns| at_ns.min(now_ns)),
            refusals: self.refusals,
            rate_per_s: self.measure(units, in_flight, now_ns),
        };
        self.rule.completed(&round);
        if self.rule.asks_return() {
            self.returned_ns = None;
        }
        self.num_completed = self.num_completed.wrapping_add(units);
        self.chain_is_open = more;
        Ok(())
    }

    fn measure(&mut self, units: u32, in_flight: u32, now_ns: u64) -> u64 {
        let Some(rate) = &mut self.rate else { return 0 };
        rate.round(RateRound {
            now_ns,
            units,
            left: in_flight - units,
            object: self.last_object,
        });
        rate.units_per_s()
    }

    /// Forgets what is in flight and all that was learnt, but for the settings and the rate; for when
    /// the device was flushed.
    pub fn reset(&mut self, now_ns: u64) {
        self.rule.reset(now_ns);
        if let Some(rate) = &mut self.rate {
            rate.reset();
        }
        (self.num_queued, self.num_completed, self.last_object) = (0, 0, 0);
        (self.refusals, self.returned_ns, self.chain_is_open) = (0, None, false);
    }

    /// Units left below the limit; one more object may be queued while it is at least 0.
    #[inline]
    pub fn room(&self) -> i64 {
        i64::from(self.limit()) - i64::from(self.in_flight())
    }

    /// Whether one more object may be queued.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Units queued and not yet completed, below 2^31.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.num_queued.wrapping_sub(self.num_completed)
    }

    /// The limit that the ledger holds to, in units.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.rule.limit().min(MAX_LIMIT)
    }

    /// How fast the device sends, in units a second, if the rule wants to know; 0 while it is not known.
    pub fn rate_per_s(&self) -> u64 {
        self.rate.as_ref().map_or(0, RateMeter::units_per_s)
    }

    /// The rule: for its unit and its settings.
    pub fn rule(&self) -> &L {
        &self.rule
    }

    /// Changes settings of the rule.
    ///
    /// # Errors
    /// Those of [`Limit::set_config`].
    pub fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.rule.set_config(config)
    }
}
