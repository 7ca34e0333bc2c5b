//! Selection and tracing of a scenario's rows.

use std::io::{self, Write};

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
    rows.retain(|row| row.name.contains(part) && (tap == Tap::Queue || row.wire.is_some()));
    Ok(rows)
}

/// Checks before a run that a row has `part` in its name and can be tapped.
///
/// # Errors
/// If no row matches.
pub fn check(run: &dyn AnyRun, tap: Tap, part: &str) -> Result<(), ScenarioError> {
    matching_rows(run, tap, part).map(drop)
}

/// Fails after an interrupt, so that an incomplete file is discarded.
struct UntilInterrupted<'a> {
    out: &'a mut dyn Write,
    check: &'a dyn Fn() -> io::Result<()>,
}

impl Write for UntilInterrupted<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (self.check)()?;
        self.out.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Runs the rows of `run` with `part` in their names and writes what `tap` records to `out`, which
/// should be buffered. `check` returns an error after an interrupt. Returns the number of bytes.
///
/// # Errors
/// If no row matches, a row or `check` fails, or `out` cannot be written.
pub fn write(
    run: &dyn AnyRun,
    (tap, part): (Tap, &str),
    out: &mut dyn Write,
    check: &dyn Fn() -> io::Result<()>,
    progress: Progress,
) -> Result<u64, ScenarioError> {
    let out = &mut UntilInterrupted { out, check };
    let rows = matching_rows(run, tap, part)?;
    let Document { scenario, seed, .. } = run.document();
    let version = env!("CARGO_PKG_VERSION");
    let finished = match tap {
        Tap::Queue => {
            let head = Head {
                scenario: scenario.to_owned(),
                seed,
                taut_version: version.to_owned(),
            };
            let mut recorder = Recorder::new(out, &head);
            run_rows(rows, progress, |row| {
                recorder.row(&row.name, &row.limit);
                (row.run)(Receiver::Queue(&mut recorder))?;
                Ok(recorder.has_failed())
            })?;
            recorder.finish()
        }
        Tap::Wire => {
            let comment = format!(
                "taut {version}, scenario {scenario}, seed {seed}; \
                 TCP window scale 7 (multiply windows by 128)"
            );
            let mut capture = Capture::new(out, &comment);
            run_rows(rows, progress, |row| {
                capture.row(&row.name, row.wire.map_or(0, |rate| rate.0));
                (row.run)(Receiver::Wire(&mut |frame| capture.frame(frame)))?;
                Ok(capture.has_failed())
            })?;
            capture.finish()
        }
    };
    finished.map_err(ScenarioError::Io)
}

/// Runs rows until `run` returns `true`: writing failed, so that no further row need be run.
fn run_rows(
    rows: Vec<TraceRow<'_>>,
    progress: Progress,
    mut run: impl FnMut(TraceRow<'_>) -> Result<bool, ScenarioError>,
) -> Result<(), ScenarioError> {
    let all = rows.len() as u64;
    for (done, row) in (0..).zip(rows) {
        progress(&row.name, done, all);
        if run(row)? {
            break;
        }
    }
    progress("done", all, all);
    Ok(())
}
