//! Writes the events of the queues of a scenario to a file.

use std::fs::{File, remove_file, rename};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use taut_scenarios::run::{AnyRun, SharedRun};
use taut_scenarios::sweep::prepare;
use taut_scenarios::tracing::{self, Tap};

use crate::background::{Reports, run_in_background};
use crate::error::of_scenario;
use crate::interrupt::Interrupt;
use crate::number::Whole;

/// Fails after an interrupt, so that the trace is discarded.
struct TraceWriter<W> {
    to: W,
    interrupt: Arc<Interrupt>,
}

impl<W: Write> Write for TraceWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.interrupt.check()?;
        self.to.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes the trace to `PATH.unfinished`, so that `PATH` is never incomplete.
fn write(reports: &Reports, run: &dyn AnyRun, row: &str, path: PathBuf) -> PyResult<u64> {
    let mut unfinished = path.clone().into_os_string();
    unfinished.push(".unfinished");
    let traced = || -> PyResult<u64> {
        let file = File::create(&unfinished)?;
        let mut out = TraceWriter {
            to: BufWriter::new(file),
            interrupt: Arc::clone(&reports.interrupt),
        };
        let mut show = |what: &str, done, all| reports.progress(what, done, all);
        let record = || tracing::write(run, (Tap::Queue, row), &mut out, &mut show);
        let bytes = reports.interrupt.run(record).map_err(of_scenario)?;
        // The trace is incomplete if its rules were not called until the end.
        reports.interrupt.check()?;
        out.flush()?;
        rename(&unfinished, &path)?;
        Ok(bytes)
    };
    let done = traced();
    if done.is_err() {
        let _ = remove_file(&unfinished);
    }
    done
}

/// Traces the rows of a scenario file whose names contain `row`. Returns the size in bytes.
#[pyfunction]
pub fn trace(
    py: Python<'_>,
    text: &str,
    path: PathBuf,
    seed: Option<Whole>,
    row: String,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let run: SharedRun = prepare(text, seed.map(|seed| seed.0)).map_err(of_scenario)?;
    tracing::check(&*run, Tap::Queue, &row).map_err(of_scenario)?;
    run_in_background(py, progress.as_ref(), &mut |_| Ok(()), move |reports| {
        write(reports, &*run, &row, path)
    })
}
