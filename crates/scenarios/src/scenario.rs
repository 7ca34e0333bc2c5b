//! The definition of a scenario.

use serde::Serialize;
use serde_json::Value;

use crate::description::published_figure;
use crate::error::ScenarioError;
use crate::trace_row::TraceRow;
use taut_report::document::{Figure, Series, Summary};

/// The cases of a scenario, each with its name for progress messages.
pub type Cases<S> = Result<Vec<(String, <S as Scenario>::Case)>, ScenarioError>;

/// A scenario: its parameters as data, cases, and results.
pub trait Scenario: Serialize + Send + Sync + 'static {
    /// A part that runs independently of the others.
    type Case: Send + Sync;

    /// Returns the cases of valid settings, in order.
    ///
    /// # Errors
    /// If something that the settings refer to is not available.
    fn cases(&self) -> Cases<Self>;

    /// Runs a case.
    ///
    /// # Errors
    /// If the settings contradict each other, or a queue becomes faulty.
    fn run(&self, case: &Self::Case, seed: u64) -> Result<Results, ScenarioError>;

    /// Adds what depends on several cases to the results of the finished ones, which are in order.
    /// After an interrupt some are missing.
    fn complete(&self, _results: &mut Results) {}

    /// Returns the name of the [`Description`](crate::description::Description) of its columns,
    /// unless that is the scenario's own.
    fn described(&self) -> Option<&'static str> {
        None
    }

    /// Returns a summary, for scenarios with many rows.
    fn summary(_rows: &[Value]) -> Option<Summary> {
        None
    }

    /// Returns the rows whose queues can be traced.
    fn traces(&self, _seed: u64) -> Vec<TraceRow<'_>> {
        Vec::new()
    }
}

/// The results of a scenario: the parts of a [`Document`](taut_report::document::Document) that
/// depend on the run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// One object for each row.
    pub rows: Vec<Value>,
    /// Comparisons with published results.
    pub figures: Vec<Figure>,
    /// Time series.
    pub series: Vec<Series>,
    /// Notes that affect the validity of the rows.
    pub notes: Vec<String>,
}

impl Results {
    /// Creates the results of one row.
    pub fn row(row: Value) -> Self {
        Self {
            rows: vec![row],
            ..Self::default()
        }
    }

    /// Compares `value` with the published result of this id, if there is one.
    pub(crate) fn compare(&mut self, id: String, value: f64) {
        self.figures.extend(published_figure(id, value));
    }

    /// Adds the results of another case.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.rows.extend_from_slice(&other.rows);
        self.figures.extend_from_slice(&other.figures);
        self.series.extend_from_slice(&other.series);
        self.notes.extend_from_slice(&other.notes);
    }
}

/// Returns the rows of each rule, in the order of their first rows.
pub(crate) fn by_rule(rows: &[Value]) -> Vec<(&str, Vec<&Value>)> {
    let mut rules: Vec<(&str, Vec<&Value>)> = Vec::new();
    for row in rows {
        let rule = row["rule"].as_str().unwrap_or_default();
        match rules.iter_mut().find(|(of, _)| *of == rule) {
            Some((_, of_rule)) => of_rule.push(row),
            None => rules.push((rule, vec![row])),
        }
    }
    rules
}
