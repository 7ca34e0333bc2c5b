//! A pattern and its limits over time, made small enough to be drawn.

use super::RuleName;
use super::ground::Ground;
use taut_sim::pattern::{Pattern, Seen};

/// Steps of a course: finer than a plot is wide.
const STEPS: u64 = 600;

/// What the intervals' need is called.
pub const NEED: &str = "need of an interval";

/// Values from their time on: (ns, bytes).
pub type Points = Vec<(u64, f64)>;

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
    pub(super) fn new(ground: &impl Ground, fixed_bytes: Option<u32>) -> Self {
        Self {
            need_bytes: ground.need_over_time(),
            fixed_bytes,
            limits: Vec::new(),
            end_ns: ground.end_ns(),
        }
    }

    pub(super) fn add(&mut self, rule: RuleName, seen: &Seen) {
        let points = seen
            .course
            .iter()
            .map(|&(ns, bytes)| (ns, f64::from(bytes)));
        self.limits
            .push((rule, thinned(points, self.end_ns, |_, last| last)));
    }
}

/// What each interval of the first queue needs, for a sender that refills at once: the bytes that
/// the wire can send in it. The most in each step.
pub fn need_over_time(pattern: &Pattern) -> Points {
    let mut now_ns = 0;
    let intervals = pattern.queues.first().into_iter().flat_map(|it| it.iter());
    let needs = intervals.map(|interval| {
        let after = pattern.rates.partition_point(|&(at_ns, _)| at_ns <= now_ns);
        let bytes_per_s = pattern.rates[..after].last().map_or(0, |rate| rate.1);
        let need = interval.gap_ns as f64 * bytes_per_s as f64 / 1e9;
        let at_ns = now_ns;
        now_ns += interval.gap_ns;
        (at_ns, need)
    });
    thinned(needs, pattern.end_ns, f64::max)
}

/// One point for each step that has any.
fn thinned(
    points: impl Iterator<Item = (u64, f64)>,
    end_ns: u64,
    join: impl Fn(f64, f64) -> f64,
) -> Points {
    let step_ns = (end_ns / STEPS).max(1);
    let mut thin: Points = Vec::new();
    for (at_ns, value) in points.take_while(|point| point.0 < end_ns) {
        match thin.last_mut() {
            Some((last_ns, last)) if *last_ns / step_ns == at_ns / step_ns => {
                *last = join(*last, value);
            }
            _ => thin.push((at_ns, value)),
        }
    }
    thin
}
