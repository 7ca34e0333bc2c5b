//! Linux's rule: the dynamic queue limit. It keeps no totals: it needs only the batch, and the
//! units that the previous batch left in flight.

use core::fmt;

use crate::counter::positive_difference;
use crate::limit::{CompletionBatch, Limit};
use crate::{Config, Error};

/// No slack sample yet: any sample is smaller.
const NO_SAMPLE: u32 = u32::MAX;

/// Dynamic queue limits, as Linux has them: the rule without a ledger. [`Dql`](crate::Dql) and the
/// two halves are this rule with one.
///
/// ```
/// use taut_dql::limit::Limit;
/// use taut_dql::ledger::Ledger;
/// use taut_dql::sharing::Local;
///
/// let mut rule = taut_dql::Dynamic::default();
/// let ledger = Ledger::<Local>::new(rule.limit());
/// ledger.queued(1514)?;
/// let limit = rule.completed(&ledger.batch(1514, false, 100_000)?);
/// ledger.completed(1514, limit);
/// assert_eq!((limit, ledger.in_flight()), (1514, 0));
/// # Ok::<(), taut_dql::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dynamic {
    config: Config,
    /// Units that the last batch left in flight.
    pub(crate) prev_left: u32,
    pub(crate) prev_over_limit: u32,
    pub(crate) prev_last_object: u32,
    pub(crate) lowest_slack: u32,
    pub(crate) window_start_ns: u64,
}

impl Dynamic {
    /// The rule with the settings of the caller.
    ///
    /// # Errors
    /// Those of [`Config::validate`].
    pub fn new(config: Config) -> Result<Self, Error> {
        config.validate()?;
        Ok(Dynamic::from_valid(config, 0))
    }

    /// From a configuration that was validated.
    pub(crate) const fn from_valid(config: Config, now_ns: u64) -> Self {
        Dynamic {
            config,
            prev_left: 0,
            prev_over_limit: 0,
            prev_last_object: 0,
            lowest_slack: NO_SAMPLE,
            window_start_ns: now_ns,
        }
    }

    /// Takes one sample, also of an interval in which nothing was completed. Returns the limit.
    #[inline(always)]
    pub(crate) fn sample(&mut self, batch: &CompletionBatch) -> u32 {
        let CompletionBatch {
            units, in_flight, ..
        } = *batch;
        let old = self.config.limit;
        let (left, prev_left) = (in_flight - units, self.prev_left);
        // `in_flight - units` cannot underflow, because the ledger rejects larger batches.
        let over = positive_difference(in_flight, old);
        let all_prev_done = units >= prev_left;
        let starved = (over > 0 && left == 0) || (self.prev_over_limit > 0 && all_prev_done);
        let limit = if starved {
            self.restart_window(batch.now_ns);
            // The units both queued and completed in this interval, and the excess before it. Only
            // a limit set explicitly since the last completion can make the sum wrap.
            let new_and_done = units.saturating_sub(prev_left);
            old.wrapping_add(new_and_done)
                .wrapping_add(self.prev_over_limit)
        } else if left > 0 && !all_prev_done {
            self.observe_slack(units, batch.now_ns)
        } else {
            old
        };
        // Not `clamp`: it panics should the bounds ever cross.
        let limit = limit.max(self.config.min_limit).min(self.config.max_limit);

        // Excess over a limit that is no longer effective is meaningless for the next interval.
        self.prev_over_limit = if limit == old { over } else { 0 };
        self.config.limit = limit;
        self.prev_last_object = batch.last_object;
        self.prev_left = left;
        limit
    }

    /// The queue was busy for the whole interval, so units beyond twice the completions of the
    /// interval were not needed. Returns the limit, decreased if the hold time is over.
    #[inline]
    fn observe_slack(&mut self, units: u32, now_ns: u64) -> u32 {
        let limit = self.config.limit;
        let had = limit.wrapping_add(self.prev_over_limit);
        let mut slack = positive_difference(had, units.wrapping_mul(2));
        if self.prev_over_limit > 0 {
            slack = slack.max(positive_difference(
                self.prev_last_object,
                self.prev_over_limit,
            ));
        }
        self.lowest_slack = self.lowest_slack.min(slack);
        if now_ns.saturating_sub(self.window_start_ns) <= self.config.hold_time_ns {
            return limit;
        }
        let decreased = positive_difference(limit, self.lowest_slack);
        self.restart_window(now_ns);
        decreased
    }

    #[inline]
    fn restart_window(&mut self, now_ns: u64) {
        self.window_start_ns = now_ns;
        self.lowest_slack = NO_SAMPLE;
    }
}

impl Default for Dynamic {
    fn default() -> Self {
        Dynamic::from_valid(Config::DEFAULT, 0)
    }
}

impl Limit for Dynamic {
    fn begin(&mut self, now_ns: u64) {
        *self = Dynamic::from_valid(self.config, now_ns);
    }

    #[inline]
    fn limit(&self) -> u32 {
        self.config.limit
    }

    /// The end of a reap is not a sample for this rule, which takes each batch as it comes.
    #[inline(always)]
    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        if batch.units == 0 {
            self.config.limit
        } else {
            self.sample(batch)
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.config.limit = self.config.min_limit;
        self.begin(now_ns);
    }

    fn repair(&mut self, in_flight: u32, now_ns: u64) {
        self.prev_left = in_flight;
        (self.prev_over_limit, self.prev_last_object) = (0, 0);
        self.restart_window(now_ns);
    }

    fn config(&self) -> Config {
        self.config
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        config.validate()?;
        self.config = config;
        Ok(())
    }
}

impl fmt::Display for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dql")
    }
}
