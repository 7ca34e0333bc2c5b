//! Which rows of a scenario can be traced, and tracing them.

use std::fmt;
use std::io::{self, Write};

use crate::error::ScenarioError;
use crate::run::Progress;
use crate::scenario::Scenario;
use taut_sim::lane::{LaneConfig, Rule, observe_with};
use taut_sim::trace::{Head, Recorder, Tracer};

type Trace<'a> = Box<dyn FnOnce(&mut Recorder<'_>) -> Result<(), ScenarioError> + 'a>;

/// A row whose queue can be traced: it is run again, with a recorder.
pub struct TraceRow<'a> {
    name: String,
    limit: String,
    trace: Trace<'a>,
}

impl<'a> TraceRow<'a> {
    /// A row, what holds its queue back, and how it is run.
    pub fn new(
        name: impl Into<String>,
        limit: impl Into<String>,
        trace: impl FnOnce(&mut Recorder<'_>) -> Result<(), ScenarioError> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            limit: limit.into(),
            trace: Box::new(trace),
        }
    }

    /// A row that is one lane.
    pub fn lane(name: impl Into<String>, lane: LaneConfig, rule: Rule) -> Self {
        Self::new(
            name,
            rule.to_string(),
            move |recorder: &mut Recorder<'_>| {
                observe_with(&lane, &rule, Tracer(Some(recorder)))?;
                Ok(())
            },
        )
    }
}

/// Why rows could not be traced.
#[derive(Debug)]
pub enum TraceRowsError {
    /// They could not be run.
    Scenario(ScenarioError),
    /// No row has such a name.
    NoRow {
        /// What was asked for.
        wanted: String,
        /// The names that there are.
        names: Vec<String>,
    },
    /// The trace could not be written.
    Io(io::Error),
}

impl fmt::Display for TraceRowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::NoRow { names, .. } if names.is_empty() => {
                f.write_str("the rows of this scenario cannot be traced")
            }
            Self::NoRow { wanted, names } => {
                let names = names.join("; ");
                write!(f, "no row has {wanted:?} in its name; there are {names}")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TraceRowsError {}

impl From<ScenarioError> for TraceRowsError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

fn wanted<'a>(
    settings: &'a impl Scenario,
    seed: u64,
    wanted: &str,
) -> Result<Vec<TraceRow<'a>>, TraceRowsError> {
    settings.validate().map_err(ScenarioError::Setting)?;
    let mut rows = settings.traces(seed);
    if !rows.iter().any(|row| row.name.contains(wanted)) {
        return Err(TraceRowsError::NoRow {
            wanted: wanted.to_owned(),
            names: rows.into_iter().map(|row| row.name).collect(),
        });
    }
    rows.retain(|row| row.name.contains(wanted));
    Ok(rows)
}

/// Says before a run whether any row has `part` in its name.
///
/// # Errors
/// If none has, or the settings cannot be.
pub fn check_rows(settings: &impl Scenario, part: &str) -> Result<(), TraceRowsError> {
    wanted(settings, 0, part).map(drop)
}

/// Runs the rows with `part` in their names and writes what happens at their queues to `out`,
/// which should be buffered. Says how many bytes that were.
///
/// # Errors
/// See [`TraceRowsError`].
pub fn trace_rows<S: Scenario>(
    settings: &S,
    seed: u64,
    part: &str,
    out: &mut dyn Write,
    progress: Progress,
) -> Result<u64, TraceRowsError> {
    let rows = wanted(settings, seed, part)?;
    let all = rows.len() as u64;
    let head = Head {
        scenario: S::NAME.to_owned(),
        seed,
        taut_version: env!("CARGO_PKG_VERSION").to_owned(),
        sampled_hz: None,
    };
    let mut recorder = Recorder::new(out, &head);
    for (done, row) in rows.into_iter().enumerate() {
        progress(&row.name, done as u64, all);
        recorder.row(&row.name, &row.limit);
        (row.trace)(&mut recorder)?;
        if recorder.has_failed() {
            break;
        }
    }
    progress("done", all, all);
    recorder.finish().map_err(TraceRowsError::Io)
}
