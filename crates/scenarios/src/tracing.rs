//! Which rows of a scenario can be traced, and tracing them.

use std::fmt;
use std::io::{self, Write};

use crate::error::ScenarioError;
use crate::run::Progress;
use crate::scenario::Scenario;
use crate::trace_row::TraceRow;
use taut_measure::trace::{Head, Recorder};
use taut_sim::pcap::Capture;

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

/// What is written of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tap {
    /// What happens at its queue, as a trace.
    Queue,
    /// What crosses its wire, as pcapng.
    Wire,
}

fn wanted<'a>(
    settings: &'a impl Scenario,
    seed: u64,
    tap: Tap,
    part: &str,
) -> Result<Vec<TraceRow<'a>>, TraceRowsError> {
    settings.validate().map_err(ScenarioError::Setting)?;
    let mut rows = settings.traces(seed);
    if tap == Tap::Wire && rows.iter().all(|row| row.wire.is_none()) {
        return Err(TraceRowsError::NoWire);
    }
    if !rows.iter().any(|row| row.name.contains(part)) {
        return Err(TraceRowsError::NoRow {
            wanted: part.to_owned(),
            names: rows.into_iter().map(|row| row.name).collect(),
        });
    }
    rows.retain(|row| row.name.contains(part));
    Ok(rows)
}

/// Says before a run whether any row has `part` in its name, and can be tapped.
///
/// # Errors
/// If none has, or the settings cannot be.
pub fn check(settings: &impl Scenario, tap: Tap, part: &str) -> Result<(), TraceRowsError> {
    wanted(settings, 0, tap, part).map(drop)
}

/// Runs the rows with `part` in their names and writes what `tap` hears of them to `out`, which
/// should be buffered. Says how many bytes that were.
///
/// # Errors
/// See [`TraceRowsError`].
pub fn write<S: Scenario>(
    settings: &S,
    (name, seed): (&str, u64),
    (tap, part): (Tap, &str),
    out: &mut dyn Write,
    progress: Progress,
) -> Result<u64, TraceRowsError> {
    let rows = wanted(settings, seed, tap, part)?;
    let all = rows.len() as u64;
    let mut writer = Writer::new(tap, (name, seed), out);
    for (done, row) in rows.into_iter().enumerate() {
        progress(&row.name, done as u64, all);
        if writer.add(row)? {
            break;
        }
    }
    progress("done", all, all);
    let finished = match writer {
        Writer::Queue(recorder) => recorder.finish(),
        Writer::Wire(capture) => capture.finish(),
    };
    finished.map_err(TraceRowsError::Io)
}

enum Writer<'w> {
    Queue(Recorder<'w>),
    Wire(Capture<'w>),
}

impl<'w> Writer<'w> {
    fn new(tap: Tap, (name, seed): (&str, u64), out: &'w mut dyn Write) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        match tap {
            Tap::Queue => {
                let head = Head {
                    scenario: name.to_owned(),
                    seed,
                    taut_version: version.to_owned(),
                    sampled_hz: None,
                };
                Self::Queue(Recorder::new(out, &head))
            }
            Tap::Wire => Self::Wire(Capture::new(
                out,
                &format!("taut {version}, scenario {name}, seed {seed}; windows are scaled by 7"),
            )),
        }
    }

    /// Says whether that failed, so that no other row need be run.
    fn add(&mut self, row: TraceRow<'_>) -> Result<bool, ScenarioError> {
        match self {
            Self::Queue(recorder) => {
                recorder.row(&row.name, &row.limit);
                (row.trace)(recorder)?;
                Ok(recorder.has_failed())
            }
            Self::Wire(capture) => {
                if let Some(wire) = row.wire {
                    capture.row(&row.name, wire.rate_bits_per_s);
                    (wire.look)(&mut |frame| capture.frame(frame))?;
                }
                Ok(capture.has_failed())
            }
        }
    }
}
