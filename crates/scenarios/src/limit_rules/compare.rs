//! Runs every rule on a trace of one seed, and summarises the seeds.

use std::sync::Arc;

use super::points::{Points, need_over_time, thinned};
use super::row::{OfSeed, row};
use super::rule::RuleName;
use crate::error::ScenarioError;
use crate::pattern::{Family, Times};
use crate::scenario::Results;
use taut_report::document::Series;
use taut_sim::completion_trace::{CompletionTrace, TraceReport, smallest_sufficient_limit};

/// Name of the series of the required in-flight.
pub const NEED: &str = "need of an interval";

/// A trace, or its family and times.
pub(super) enum TraceSource {
    /// A trace from a file.
    File(Box<CompletionTrace>),
    /// A synthetic trace.
    Synthetic(&'static Family, Times),
}

impl TraceSource {
    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::File(trace) => &trace.id,
            Self::Synthetic(family, _) => family.name,
        }
    }

    /// Returns the trace for a seed.
    pub fn trace(&self, seed: u64) -> CompletionTrace {
        match self {
            Self::File(trace) => (**trace).clone(),
            Self::Synthetic(family, times) => family.pattern(seed, *times),
        }
    }

    /// Returns how many of `seeds` differ.
    pub const fn seeds(&self, seeds: u32) -> u32 {
        match self {
            Self::File(_) => 1,
            Self::Synthetic(..) => seeds,
        }
    }
}

/// A trace with one seed.
pub struct LimitRulesCase {
    pub(super) source: Arc<TraceSource>,
    /// Index of the seed.
    number: u32,
    seed: u64,
}

/// Results of the rules that could run.
pub struct LimitRulesOutcome {
    target: f64,
    of_rules: Vec<Option<OfSeed>>,
    /// The required in-flight of each interval and the limits, only for the first seed.
    series: Vec<Series>,
}

/// A finished case.
pub(super) type Ran<'a> = (&'a LimitRulesCase, &'a LimitRulesOutcome);

impl LimitRulesCase {
    /// Creates the case of the source with the `number`-th seed from `first_seed`.
    pub(super) fn new(source: Arc<TraceSource>, number: u32, first_seed: u64) -> Self {
        Self {
            source,
            number,
            seed: first_seed.wrapping_add(number.into()),
        }
    }

    pub(super) fn run(&self, rules: &[RuleName]) -> Result<LimitRulesOutcome, ScenarioError> {
        let trace = self.source.trace(self.seed);
        let fixed_bytes = smallest_sufficient_limit(&trace)?;
        let fixed = RuleName::Fixed.observe(&trace, fixed_bytes)?;
        let (mut of_rules, mut series) = (Vec::new(), Vec::new());
        let mut draw = |what: &str, name, points: Points| {
            if self.number == 0 {
                let row = format!("{}: {what}", self.source.name());
                series.push(Series::bytes(row, name, points));
            }
        };
        draw(NEED, "need", need_over_time(&trace));
        for rule in rules {
            let seen = match rule {
                RuleName::Fixed => fixed.clone(),
                rule => rule.observe(&trace, fixed_bytes)?,
            };
            if let Some(seen) = &seen {
                draw(&rule.to_string(), "limit", limit_over_time(&trace, seen));
            }
            of_rules.push(seen.map(|seen| OfSeed::new(&trace, &seen, fixed.as_ref())));
        }
        Ok(LimitRulesOutcome {
            target: trace.utilisation,
            of_rules,
            series,
        })
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

/// Adds the results of all seeds of one trace, at least one: a row for each rule.
pub(super) fn push(found: &mut Results, rules: &[RuleName], seeds: &[Ran<'_>]) {
    let (first, outcome) = seeds[0];
    let row = |(index, rule): (usize, &RuleName)| {
        let of_rule = |(_, it): &Ran<'_>| it.of_rules[index].clone();
        let of_rule: Vec<OfSeed> = seeds.iter().filter_map(of_rule).collect();
        row(first.source.name(), rule, outcome.target, &of_rule)
    };
    let rows = rules.iter().enumerate().filter_map(row);
    found.rows.extend(rows);
    found.series.extend_from_slice(&outcome.series);
}
