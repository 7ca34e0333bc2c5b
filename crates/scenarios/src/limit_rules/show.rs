//! Time series of a workload and its limits, reduced for drawing.

use super::RuleName;
use super::points::{Points, thinned};
use taut_sim::completion_trace::TraceReport;

/// Name of the series of the required in-flight.
pub const NEED: &str = "need of an interval";

/// Time series of a workload.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Required in-flight of each interval, in bytes: the maximum in each sample.
    pub need_bytes: Points,
    /// The smallest sufficient fixed limit.
    pub fixed_bytes: Option<u32>,
    /// The limit of each rule.
    pub limits: Vec<(RuleName, Points)>,
    /// The end, in ns.
    pub end_ns: u64,
}

impl Shown {
    pub(super) fn new(need_bytes: Points, fixed_bytes: Option<u32>, end_ns: u64) -> Self {
        Self {
            need_bytes,
            fixed_bytes,
            limits: Vec::new(),
            end_ns,
        }
    }

    pub(super) fn add(&mut self, rule: RuleName, seen: &TraceReport) {
        let points = seen
            .limit_changes
            .iter()
            .map(|&(ns, bytes)| (ns, f64::from(bytes)));
        self.limits
            .push((rule, thinned(points, self.end_ns, |_, last| last)));
    }
}
