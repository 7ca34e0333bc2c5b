//! What a scenario is.

use serde_json::Value;

use crate::error::ScenarioError;
use crate::schema::Schema;
use crate::trace_row::TraceRow;
use taut_report::document::{Figure, Series, Summary};

/// A scenario: what is run with its settings, and what that shows.
pub trait Scenario: Schema {
    /// What it shows, in one line.
    const ABOUT: &'static str;
    /// Whether figures of it were published, to stand beside what it finds.
    const HAS_FIGURES: bool = false;
    /// What is to be said about them, such as why some are outside.
    const REMARK: &'static str = "";
    /// What the columns of its rows mean: (name, meaning). Names that explain themselves are left
    /// out.
    const COLUMNS: &'static [(&'static str, &'static str)] = &[];

    /// A part of it that is run by itself, whatever runs beside it.
    type Case: Send + Sync;
    /// What a case showed.
    type Outcome: Send + Sync;

    /// What valid settings run, in order.
    ///
    /// # Errors
    /// If something that they name cannot be had.
    fn cases(&self, seed: u64) -> Result<Vec<Self::Case>, ScenarioError>;

    /// What a case is called while it is being run.
    fn name(&self, case: &Self::Case) -> String;

    /// Runs a case.
    ///
    /// # Errors
    /// If the settings contradict each other, or a queue goes wrong.
    fn run(&self, case: &Self::Case, seed: u64) -> Result<Self::Outcome, ScenarioError>;

    /// What the cases that were run have shown, in their order. After an interrupt some are
    /// missing.
    fn found(&self, ran: &[(&Self::Case, &Self::Outcome)]) -> Found;

    /// [`COLUMNS`](Self::COLUMNS), where they depend on the settings.
    fn columns(&self) -> &'static [(&'static str, &'static str)] {
        Self::COLUMNS
    }

    /// Its rows in short, where they are many.
    fn summary(_rows: &[Value]) -> Option<Summary> {
        None
    }

    /// The rows whose queues can be traced.
    fn traces(&self, _seed: u64) -> Vec<TraceRow<'_>> {
        Vec::new()
    }
}

/// What was found: the parts of a [`Document`](taut_report::document::Document) that differ from
/// run to run.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// One object for each row.
    pub rows: Vec<Value>,
    /// Published figures and what was found in their place.
    pub figures: Vec<Figure>,
    /// How things went over time.
    pub series: Vec<Series>,
}

impl Found {
    /// One row, without figures.
    pub fn row(row: Value) -> Self {
        Self {
            rows: vec![row],
            ..Self::default()
        }
    }

    /// All parts, one after the other.
    pub fn all<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.rows.extend_from_slice(&part.rows);
            all.figures.extend_from_slice(&part.figures);
            all.series.extend_from_slice(&part.series);
        }
        all
    }

    /// What all cases of a scenario found whose cases need nothing of each other.
    pub(crate) fn of<C>(ran: &[(&C, &Self)]) -> Self {
        Self::all(ran.iter().map(|&(_, part)| part))
    }
}
