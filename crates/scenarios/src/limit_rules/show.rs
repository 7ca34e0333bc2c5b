//! A pattern and its limits over time, made small enough to be drawn.

use super::RuleName;
use super::points::{Points, thinned};
use taut_sim::completion_trace::TraceReport;

/// What the intervals' need is called.
pub const NEED: &str = "need of an interval";

/// One pattern over time.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Bytes that the wire could send in each interval: the most in each step.
    pub need_bytes: Points,
    /// The least fixed limit.
    pub fixed_bytes: Option<u32>,
    /// Each rule's limit.
    pub limits: Vec<(RuleName, Points)>,
    /// The end of it.
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
