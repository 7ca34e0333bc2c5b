//! What the rules run on.

use taut_path::limit::Fixed;

use super::points::{Points, need_over_time};
use crate::error::ScenarioError;
use taut_sim::completion_trace::{self, CompletionTrace, Detail, TraceReport};
use taut_sim::single_queue_bench::Rule;

/// Something that a rule can be run on.
pub(super) trait Workload {
    /// Runs it with `rule`.
    fn observe(&self, rule: &Rule) -> Result<TraceReport, ScenarioError>;

    /// Runs it where only the ring holds the queue back.
    fn observe_off(&self) -> Result<TraceReport, ScenarioError>;

    /// The least fixed limit that keeps the promise; `None` if none does.
    fn smallest_sufficient_limit(&self) -> Result<Option<u32>, ScenarioError>;

    /// The promise: what share is to be carried.
    fn promise(&self) -> f64;

    /// What each interval between interrupts needs, if that is known beforehand.
    fn need_over_time(&self) -> Points;

    /// When it changes for good, in ns.
    fn changes_ns(&self) -> &[u64];

    /// The end, in ns.
    fn end_ns(&self) -> u64;
}

impl Workload for CompletionTrace {
    fn observe(&self, rule: &Rule) -> Result<TraceReport, ScenarioError> {
        let detail = Detail {
            coalesce_ns: rule.coalesce_ns,
            ..Detail::FULL
        };
        Ok(completion_trace::observe(self, rule.limit.clone(), detail)?)
    }

    fn observe_off(&self) -> Result<TraceReport, ScenarioError> {
        Ok(completion_trace::observe(self, Fixed::off(), Detail::OFF)?)
    }

    fn smallest_sufficient_limit(&self) -> Result<Option<u32>, ScenarioError> {
        Ok(completion_trace::smallest_sufficient_limit(self)?)
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
