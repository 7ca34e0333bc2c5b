//! Runs every rule on a trace with each of its seeds.

use super::row::{OfSeed, row};
use super::rule::RuleName;
use crate::pattern::read::PatternFile;
use crate::pattern::{Family, Times};
use crate::prelude::*;
use taut_sim::completion_trace::{CompletionTrace, TraceReport, smallest_sufficient_limit};

/// Name of the series of the required in-flight.
pub(super) const NEED: &str = "need of an interval";

/// A trace, or its family and times.
pub enum TraceSource {
    /// A trace from a file.
    File(Box<PatternFile>),
    /// A synthetic trace.
    Synthetic(&'static Family, Times),
}

impl TraceSource {
    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::File(file) => &file.pattern.id,
            Self::Synthetic(family, _) => family.name,
        }
    }

    /// Returns the trace for a seed.
    pub fn trace(&self, seed: u64) -> CompletionTrace {
        match self {
            Self::File(file) => file.pattern.clone(),
            Self::Synthetic(family, times) => family.pattern(seed, *times),
        }
    }

    /// Returns how many of `seeds` differ.
    const fn seeds(&self, seeds: u32) -> u32 {
        match self {
            Self::File(_) => 1,
            Self::Synthetic(..) => seeds,
        }
    }

    /// Runs the rules with `seeds` seeds from `first_seed`. Returns a row for each rule, and the
    /// limits and the required in-flight over time with the first seed.
    pub(super) fn run(
        &self,
        rules: &[RuleName],
        first_seed: u64,
        seeds: u32,
    ) -> Result<Results, ScenarioError> {
        let mut found = Results::default();
        let mut of_rules = vec![Vec::new(); rules.len()];
        let mut target = 0.0;
        for number in 0..self.seeds(seeds) {
            let trace = self.trace(first_seed.wrapping_add(number.into()));
            target = trace.utilisation;
            let mut draw = |what: &str, name, points: Points| {
                if number == 0 {
                    let row = format!("{}: {what}", self.name());
                    found.series.push(Series::bytes(row, name, points));
                }
            };
            draw(NEED, "need", need_over_time(&trace));
            let fixed_bytes = smallest_sufficient_limit(&trace)?;
            let fixed = RuleName::Fixed.observe(&trace, fixed_bytes)?;
            for (rule, of_rule) in rules.iter().zip(&mut of_rules) {
                let seen = match rule {
                    RuleName::Fixed => fixed.clone(),
                    rule => rule.observe(&trace, fixed_bytes)?,
                };
                if let Some(seen) = seen {
                    draw(&rule.to_string(), "limit", limit_over_time(&trace, &seen));
                    of_rule.push(OfSeed::new(&trace, &seen, fixed.as_ref()));
                }
            }
        }
        let rows = rules.iter().zip(&of_rules);
        let rows = rows.filter_map(|(rule, seeds)| row(self.name(), rule, target, seeds));
        found.rows = rows.collect();
        if let Self::File(file) = self {
            found.notes.clone_from(&file.warnings);
        }
        Ok(found)
    }
}

/// Returns the limit until the end of the trace.
fn limit_over_time(trace: &CompletionTrace, seen: &TraceReport) -> Points {
    let changes = seen.limit_changes.iter();
    let changes = changes.map(|&(ns, bytes)| (ns, f64::from(bytes)));
    let mut points = thinned(changes, trace.end_ns, |_, last| last);
    points.extend(points.last().map(|last| (trace.end_ns, last.1)));
    points
}

/// Samples of a time series: finer than the width of a plot.
const STEPS: u64 = 600;

/// Values from their time on: (ns, bytes).
type Points = Vec<(u64, f64)>;

/// Returns the required in-flight of each interval of the first queue, for a sender that refills at
/// once: the bytes that the wire can send in it. Each sample is a maximum.
fn need_over_time(pattern: &CompletionTrace) -> Points {
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

/// Returns one point for each non-empty sample.
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
