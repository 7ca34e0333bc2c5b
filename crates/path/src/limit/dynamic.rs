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
        Self {
            estimator: Estimator::default(),
        }
    }
}

impl Limit for Dynamic {
    fn begin(&mut self, now_ns: u64) {
        self.estimator.begin(now_ns);
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
        self.estimator.set_config(config)
    }
}

impl fmt::Display for Dynamic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("dql")
    }
}

impl NamedLimit for Dynamic {}
