//! Writes the events of the queues of a scenario to a file.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use taut_report::file::replace_with;
use taut_scenarios::run::{AnyRun, SharedRun};
use taut_scenarios::sweep::prepare;
use taut_scenarios::tracing::{self, Tap};

use crate::background::{Reports, run_in_background};
use crate::error::of_scenario;
use crate::number::Whole;

/// Writes the trace to `path`, which is never incomplete. Returns its size in bytes.
fn write(reports: &Reports, run: &dyn AnyRun, row: &str, path: &Path) -> io::Result<u64> {
    let interrupt = &reports.interrupt;
    let mut bytes = 0;
    replace_with(path, |file| {
        let mut out = BufWriter::new(file);
        let mut show = |what: &str, done, all| reports.progress(what, done, all);
        let check = || interrupt.check();
        let record = || tracing::write(run, (Tap::Queue, row), &mut out, &check, &mut show);
        bytes = interrupt.run(record)?;
        // The trace is incomplete if its rules were not called until the end.
        interrupt.check()?;
        out.flush()
    })?;
    Ok(bytes)
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
        let written = write(reports, &*run, &row, &path);
        written.map_err(|error| error.downcast().map_or_else(PyErr::from, of_scenario))
    })
}
