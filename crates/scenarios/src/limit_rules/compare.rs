//! Runs every rule on a workload of one seed, and summarises the seeds.

use std::sync::Arc;

use super::points::Points;
use super::row::{LimitRow, OfSeed};
use super::rule::RuleName;
use super::show::{NEED, Shown};
use super::source::WorkloadSource;
use crate::error::ScenarioError;
use taut_report::document::Series;

/// A workload with one seed.
pub struct LimitRulesCase {
    pub(super) subject: Arc<WorkloadSource>,
    /// Index of the seed.
    number: u32,
    seed: u64,
}

/// Results of the rules that could run.
pub struct LimitRulesOutcome {
    target: f64,
    of_rules: Vec<Option<OfSeed>>,
    /// Only for the first seed.
    shown: Option<Shown>,
}

/// Results of one workload.
#[derive(Debug, Clone)]
pub struct Compared {
    /// A row for each rule.
    pub rows: Vec<LimitRow>,
    /// Time series of the first seed, for drawing.
    pub shown: Shown,
}

impl LimitRulesCase {
    /// Creates the case of the source with the `number`-th seed from `first_seed`.
    pub(super) fn new(subject: Arc<WorkloadSource>, number: u32, first_seed: u64) -> Self {
        Self {
            subject,
            number,
            seed: first_seed.wrapping_add(number.into()),
        }
    }

    pub(super) fn run(&self, rules: &[RuleName]) -> Result<LimitRulesOutcome, ScenarioError> {
        let workload = &*self.subject.workload(self.seed)?;
        let fixed_bytes = workload.smallest_sufficient_limit()?;
        let fixed = RuleName::Fixed.observe(workload, fixed_bytes)?;
        let mut shown = (self.number == 0)
            .then(|| Shown::new(workload.need_over_time(), fixed_bytes, workload.end_ns()));
        let mut of_rules = Vec::new();
        for rule in rules {
            let seen = match rule {
                RuleName::Fixed => fixed.clone(),
                rule => rule.observe(workload, fixed_bytes)?,
            };
            if let (Some(shown), Some(seen)) = (&mut shown, &seen) {
                shown.add(rule.clone(), seen);
            }
            of_rules.push(seen.map(|seen| OfSeed::new(workload, &seen, fixed.as_ref())));
        }
        Ok(LimitRulesOutcome {
            target: workload.target_utilisation(),
            of_rules,
            shown,
        })
    }
}

impl Compared {
    /// Summarises all seeds of one workload, at least one.
    pub(super) fn new(rules: &[RuleName], seeds: &[(&LimitRulesCase, &LimitRulesOutcome)]) -> Self {
        let (first, outcome) = seeds[0];
        let row = |(index, rule): (usize, &RuleName)| {
            let of_rule = seeds
                .iter()
                .filter_map(|(_, it)| it.of_rules[index].clone());
            let of_rule: Vec<_> = of_rule.collect();
            LimitRow::new(first.subject.name(), rule, outcome.target, &of_rule)
        };
        Self {
            rows: rules.iter().enumerate().filter_map(row).collect(),
            shown: outcome.shown.clone().unwrap_or_default(),
        }
    }

    /// Returns the required in-flight of each interval and the limits, for the first seed.
    pub(super) fn series(&self) -> Vec<Series> {
        let pattern = self.rows.first().map_or("", |row| &row.pattern);
        let series = |what: String, name, points: &Points| {
            Series::bytes(format!("{pattern}: {what}"), name, points.clone())
        };
        let need = series(NEED.to_owned(), "need", &self.shown.need_bytes);
        let limits = self.shown.limits.iter();
        let limits = limits.map(|(rule, points)| series(rule.to_string(), "limit", points));
        std::iter::once(need).chain(limits).collect()
    }
}
