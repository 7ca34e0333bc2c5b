//! Which rows of a scenario can be traced, and tracing them.

use std::fmt;
use std::io::{self, Write};

use crate::error::ScenarioError;
use crate::run::Progress;
use crate::scenario::Scenario;
use taut_sim::lane::{LaneConfig, Rule, observe_with};
use taut_sim::pcap::Capture;
use taut_sim::trace::{Head, Recorder, Tracer};
use taut_sim::world::WireFrame;

type Trace<'a> = Box<dyn FnOnce(&mut Recorder<'_>) -> Result<(), ScenarioError> + 'a>;

/// Runs a row, and hears of each frame on its wire.
type Look<'a> = Box<dyn FnOnce(&mut dyn FnMut(&WireFrame)) -> Result<(), ScenarioError> + 'a>;

struct Wire<'a> {
    rate_bits_per_s: u64,
    look: Look<'a>,
}

/// A row whose queue can be traced: it is run again, with a recorder.
pub struct TraceRow<'a> {
    name: String,
    limit: String,
    trace: Trace<'a>,
    wire: Option<Wire<'a>>,
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
            wire: None,
        }
    }

    /// With the wire between two hosts, which can be looked at.
    pub fn with_wire(
        mut self,
        rate_bits_per_s: u64,
        look: impl FnOnce(&mut dyn FnMut(&WireFrame)) -> Result<(), ScenarioError> + 'a,
    ) -> Self {
        self.wire = Some(Wire {
            rate_bits_per_s,
            look: Box::new(look),
        });
        self
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
    /// There is no wire between two hosts.
    NoWire,
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
            Self::NoWire => f.write_str(
                "these rows have no wire between two hosts that could be captured; those of \
                 rr-under-load and rr-sizes have",
            ),
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

/// Says before a run whether the wire of any row with `part` in its name can be captured.
///
/// # Errors
/// If none has, or the settings cannot be.
pub fn check_wires(settings: &impl Scenario, part: &str) -> Result<(), TraceRowsError> {
    wires(settings, 0, part).map(drop)
}

fn wires<'a>(
    settings: &'a impl Scenario,
    seed: u64,
    part: &str,
) -> Result<Vec<(String, Wire<'a>)>, TraceRowsError> {
    if settings.traces(seed).iter().all(|row| row.wire.is_none()) {
        return Err(TraceRowsError::NoWire);
    }
    let rows = wanted(settings, seed, part)?.into_iter();
    Ok(rows.filter_map(|row| Some((row.name, row.wire?))).collect())
}

/// Runs the rows with `part` in their names and writes what crosses their wires to `out`, which should be
/// buffered, as pcapng. Says how many bytes that were.
///
/// # Errors
/// See [`TraceRowsError`].
pub fn capture_rows<S: Scenario>(
    settings: &S,
    seed: u64,
    part: &str,
    out: &mut dyn Write,
    progress: Progress,
) -> Result<u64, TraceRowsError> {
    let rows = wires(settings, seed, part)?;
    let all = rows.len() as u64;
    let (name, version) = (S::NAME, env!("CARGO_PKG_VERSION"));
    let comment = format!("taut {version}, scenario {name}, seed {seed}; windows are scaled by 7");
    let mut capture = Capture::new(out, &comment);
    for (done, (name, wire)) in rows.into_iter().enumerate() {
        progress(&name, done as u64, all);
        capture.row(&name, wire.rate_bits_per_s);
        (wire.look)(&mut |frame| capture.frame(frame))?;
        if capture.has_failed() {
            break;
        }
    }
    progress("done", all, all);
    capture.finish().map_err(TraceRowsError::Io)
}
