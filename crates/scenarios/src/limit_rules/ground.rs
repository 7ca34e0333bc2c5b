//! What the rules run on.

use taut_path::limit::Fixed;

use super::points::{Points, need_over_time};
use crate::error::ScenarioError;
use taut_sim::lane::Rule;
use taut_sim::pattern::{self, Detail, Pattern, Seen};

/// Something that a rule can be run on.
pub(super) trait Ground {
    /// Runs it with `rule`.
    fn observe(&self, rule: &Rule) -> Result<Seen, ScenarioError>;

    /// Runs it where only the ring holds the queue back.
    fn observe_off(&self) -> Result<Seen, ScenarioError>;

    /// The least fixed limit that keeps the promise; `None` if none does.
    fn least_fixed(&self) -> Result<Option<u32>, ScenarioError>;

    /// The promise: what share is to be carried.
    fn promise(&self) -> f64;

    /// What each interval between interrupts needs, if that is known beforehand.
    fn need_over_time(&self) -> Points;

    /// When it changes for good, in ns.
    fn changes_ns(&self) -> &[u64];

    /// The end, in ns.
    fn end_ns(&self) -> u64;
}

impl Ground for Pattern {
    fn observe(&self, rule: &Rule) -> Result<Seen, ScenarioError> {
        let detail = Detail {
            cadence_ns: rule.cadence_ns,
            ..Detail::FULL
        };
        Ok(pattern::observe(self, rule.limit.clone(), detail)?)
    }

    fn observe_off(&self) -> Result<Seen, ScenarioError> {
        Ok(pattern::observe(self, Fixed::off(), Detail::OFF)?)
    }

    fn least_fixed(&self) -> Result<Option<u32>, ScenarioError> {
        Ok(pattern::least_fixed(self)?)
    }

    fn promise(&self) -> f64 {
        self.utilisation
    }

    fn need_over_time(&self) -> Points {
        need_over_time(self)
    }

    fn changes_ns(&self) -> &[u64] {
        &self.changes_ns
    }

    fn end_ns(&self) -> u64 {
        self.end_ns
    }
}
