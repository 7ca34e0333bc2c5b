//! Linux's rule: the dynamic queue limit.

use core::fmt;

use taut_dql::{Config, Error, Estimator, Queued};

use super::{Limit, NamedLimit, Round};

/// Dynamic queue limits over bytes, as Linux has them.
#[derive(Debug, Clone)]
pub struct Dynamic {
    estimator: Estimator,
}

impl Dynamic {
    /// The rule with settings of the caller's.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn new(config: Config) -> Result<Self, Error> {
        Ok(Self {
            estimator: Estimator::new(config, 0)?,
        })
    }
}

impl Default for Dynamic {
    fn default() -> Self {
        // The defaults do not contradict each other.
        let estimator = Estimator::new(Config::default(), 0);
        Self {
            estimator: estimator.unwrap_or_else(|error| unreachable!("{error}")),
        }
    }
}

impl Limit for Dynamic {
    fn begin(&mut self, now_ns: u64) {
        // These settings were checked.
        if let Ok(estimator) = Estimator::new(self.estimator.config(), now_ns) {
            self.estimator = estimator;
        }
    }

    #[inline]
    fn limit(&self) -> u32 {
        self.estimator.limit()
    }

    #[inline]
    fn completed(&mut self, round: &Round) -> u32 {
        // The end of a chain is nothing to this rule, which takes each round as it comes.
        if round.units > 0 {
            let queued = Queued {
                num_queued: round.num_queued,
                last_object: round.last_object,
            };
            // Never more than is in flight, the one thing that it refuses.
            let told = self.estimator.completed(queued, round.units, round.now_ns);
            debug_assert!(told.is_ok(), "{told:?}");
        }
        self.estimator.limit()
    }

    fn reset(&mut self, now_ns: u64) {
        self.estimator.reset(now_ns);
    }

    fn config(&self) -> Config {
        self.estimator.config()
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        config.validate()?;
        // The lower bound last, so that no step contradicts another.
        self.estimator.set_min_limit(0)?;
        self.estimator.set_max_limit(config.max_limit)?;
        self.estimator.set_min_limit(config.min_limit)?;
        self.estimator.set_hold_time_ns(config.hold_time_ns);
        self.estimator.set_limit(config.limit)
    }
}

impl fmt::Display for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dql")
    }
}

impl NamedLimit for Dynamic {}
