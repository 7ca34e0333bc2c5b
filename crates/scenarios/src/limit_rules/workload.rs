//! Workloads of the rules.

use taut_path::limit::Fixed;

use super::points::{Points, need_over_time};
use crate::error::ScenarioError;
use taut_sim::completion_trace::{self, CompletionTrace, Detail, TraceReport};
use taut_sim::single_queue_bench::Rule;

/// A workload on which a rule can be run.
pub(super) trait Workload {
    /// Runs it with `rule`.
    fn observe(&self, rule: &Rule) -> Result<TraceReport, ScenarioError>;

    /// Runs it without a limit except the ring.
    fn observe_off(&self) -> Result<TraceReport, ScenarioError>;

    /// Returns the smallest fixed limit that reaches the target utilisation; `None` if none does.
    fn smallest_sufficient_limit(&self) -> Result<Option<u32>, ScenarioError>;

    /// Returns the target utilisation.
    fn target_utilisation(&self) -> f64;

    /// Returns the required in-flight of each interrupt interval, if it is known in advance.
    fn need_over_time(&self) -> Points;

    /// Returns the times of permanent changes, in ns.
    fn changes_ns(&self) -> &[u64];

    /// Returns the end, in ns.
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

    fn target_utilisation(&self) -> f64 {
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
