//! Selection and tracing of a scenario's rows.

use std::io::Write;

use crate::error::ScenarioError;
use crate::run::{AnyRun, Progress};
use crate::trace_row::{Receiver, TraceRow};
use taut_measure::trace::{Head, Recorder};
use taut_report::document::Document;
use taut_sim::pcap::Capture;

/// The recorded part of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tap {
    /// The events of its queue, as a trace.
    Queue,
    /// The frames on its wire, as pcapng.
    Wire,
}

fn matching_rows<'a>(
    run: &'a dyn AnyRun,
    tap: Tap,
    part: &str,
) -> Result<Vec<TraceRow<'a>>, ScenarioError> {
    let mut rows = run.traces();
    if tap == Tap::Wire && rows.iter().all(|row| row.wire.is_none()) {
        let message = "these rows have no wire between two hosts that could be captured; those of \
                       late-segmentation, rr-sizes and rr-under-load have";
        return Err(ScenarioError::Setting(message.to_owned()));
    }
    if !rows.iter().any(|row| row.name.contains(part)) {
        let names: Vec<String> = rows.into_iter().map(|row| row.name).collect();
        return Err(ScenarioError::Setting(match names.join("; ") {
            names if names.is_empty() => "the rows of this scenario cannot be traced".to_owned(),
            names => format!("no row has {part:?} in its name; there are: {names}"),
        }));
    }
    rows.retain(|row| row.name.contains(part));
    Ok(rows)
}

/// Checks before a run that a row has `part` in its name and can be tapped.
///
/// # Errors
/// If no row matches.
pub fn check(run: &dyn AnyRun, tap: Tap, part: &str) -> Result<(), ScenarioError> {
    matching_rows(run, tap, part).map(drop)
}

/// Runs the rows of `run` with `part` in their names and writes what `tap` records to `out`, which
/// should be buffered. Returns the number of bytes.
///
/// # Errors
/// If no row matches, a row fails, or `out` cannot be written.
pub fn write(
    run: &dyn AnyRun,
    (tap, part): (Tap, &str),
    out: &mut dyn Write,
    progress: Progress,
) -> Result<u64, ScenarioError> {
    let rows = matching_rows(run, tap, part)?;
    let all = rows.len() as u64;
    let Document { scenario, seed, .. } = run.document();
    let mut writer = Writer::new(tap, (scenario, seed), out);
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
    finished.map_err(ScenarioError::Io)
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
                &format!(
                    "taut {version}, scenario {name}, seed {seed}; \
                     TCP window scale 7 (multiply windows by 128)"
                ),
            )),
        }
    }

    /// Returns `true` if writing failed, so that no further row need be run.
    fn add(&mut self, row: TraceRow<'_>) -> Result<bool, ScenarioError> {
        match (self, row.wire) {
            (Self::Queue(recorder), _) => {
                recorder.row(&row.name, &row.limit);
                (row.run)(Receiver::Queue(&mut *recorder))?;
                Ok(recorder.has_failed())
            }
            (Self::Wire(capture), Some(rate)) => {
                capture.row(&row.name, rate.0);
                (row.run)(Receiver::Wire(&mut |frame| capture.frame(frame)))?;
                Ok(capture.has_failed())
            }
            (Self::Wire(capture), None) => Ok(capture.has_failed()),
        }
    }
}
