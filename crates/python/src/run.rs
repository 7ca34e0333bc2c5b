//! Scenarios by their names and files.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use taut_report::document::Document as Found;
use taut_scenarios::limit_rules;
use taut_scenarios::registry::{self, DEFAULT_SEED};
use taut_scenarios::run::{RunCase, SharedRun, all_cores, run_all_with};
use taut_scenarios::{setting, sweep};

use crate::background::run_in_background;
use crate::document::Document;
use crate::error::of_scenario;
use crate::number::{Units, Whole};
use crate::settings::{alias, written};

/// Returns the number of threads that run cases [default: one for each core].
fn threads(jobs: Option<Units>) -> PyResult<usize> {
    match jobs {
        None => Ok(all_cores()),
        Some(Units(jobs)) if (1..=MAX_JOBS).contains(&jobs) => Ok(jobs as usize),
        Some(Units(jobs)) => Err(PyValueError::new_err(format!(
            "jobs is {jobs}; allowed: 1 to {MAX_JOBS}, or None for one for each core"
        ))),
    }
}

/// The maximum of the command.
const MAX_JOBS: u32 = 1024;

/// Runs every case of `runs`. Calls `finished` with the number of each complete run.
pub fn run_watched(
    py: Python<'_>,
    runs: Vec<SharedRun>,
    jobs: Option<Units>,
    progress: Option<&Bound<'_, PyAny>>,
    finished: &mut dyn FnMut(usize) -> PyResult<()>,
) -> PyResult<()> {
    let jobs = threads(jobs)?;
    run_in_background(py, progress, finished, move |reports| {
        let interrupt = &reports.interrupt;
        let work = |case: &RunCase<'_>| {
            interrupt.check()?;
            interrupt.run(|| (case.run)())?;
            // The case is incomplete if its rules were not called until the end.
            Ok(interrupt.check()?)
        };
        let mut show = |what: &str, done, all| reports.progress(what, done, all);
        let mut finished = |run| reports.finished(run);
        run_all_with(&work, &runs, jobs, &mut show, &mut finished).map_err(of_scenario)
    })
}

/// Runs a scenario. Returns its results.
pub fn document_of(
    py: Python<'_>,
    run: SharedRun,
    jobs: Option<Units>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found> {
    run_watched(py, vec![Arc::clone(&run)], jobs, progress, &mut |_| Ok(()))?;
    Ok(py.detach(|| run.document()))
}

/// The scenarios: (name, description, file).
#[pyfunction]
pub fn scenarios() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = registry::ALL.iter();
    all.map(|entry| (entry.name, &*entry.description().about, entry.file))
        .collect()
}

/// The built-in completion traces.
#[pyfunction]
pub fn patterns() -> Vec<&'static str> {
    limit_rules::names().collect()
}

/// Returns a scenario file with changed settings.
#[pyfunction]
pub fn with_settings(text: &str, settings: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<String> {
    // Check the scenario and its file before the settings.
    registry::check(text).map_err(of_scenario)?;
    let mut changes = Vec::new();
    for (key, value) in settings {
        changes.push((alias(text, key)?, written(&value)?));
    }
    if changes.is_empty() {
        return Ok(text.to_owned());
    }
    let changes: Vec<(&str, &str)> = changes
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    setting::with(text, &changes).map_err(of_scenario)
}

/// Runs a scenario file.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    text: &str,
    seed: Option<Whole>,
    jobs: Option<Units>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Document> {
    let seed = seed.map_or(DEFAULT_SEED, |seed| seed.0);
    // Creating the cases of seeds can take a while.
    let run = py
        .detach(|| sweep::prepare(text, Some(seed)))
        .map_err(of_scenario)?;
    document_of(py, run, jobs, progress.as_ref()).map(Document)
}
