//! Every combination of the values of some settings.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use taut_scenarios::registry::DEFAULT_SEED;
use taut_scenarios::run::{AnyRun, SharedRun};
use taut_scenarios::sweep::{self, Book, Plan, Swept, prepare};

use crate::document::Document;
use crate::error::{ScenarioError, of_scenario};
use crate::number::{Units, Whole};
use crate::run::{document_of, run_watched};
use crate::settings::{alias, written};

/// A sweep: its runs, in this or other processes, and their results so far.
#[pyclass(frozen, module = "taut._taut")]
pub struct Sweep(Mutex<Inner>);

struct Inner {
    plan: Plan,
    book: Option<Book>,
}

impl Inner {
    fn keep(&mut self, line: &str) -> PyResult<()> {
        if let Some(book) = &mut self.book {
            book.add(line).map_err(|error| {
                PyOSError::new_err(format!("cannot store a finished run: {error}"))
            })?;
        }
        Ok(())
    }
}

impl Sweep {
    /// Locks the sweep. `use_it` must be short.
    fn with<T>(&self, use_it: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        match self.0.lock() {
            Ok(mut inner) => use_it(&mut inner),
            Err(_) => Err(PyRuntimeError::new_err("this sweep failed before")),
        }
    }
}

#[pymethods]
impl Sweep {
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        seed: Option<Whole>,
        swept: Vec<(String, Vec<Bound<'_, PyAny>>)>,
        resume: Option<PathBuf>,
    ) -> PyResult<Self> {
        let seed = seed.map_or(DEFAULT_SEED, |seed| seed.0);
        let mut grid = Vec::new();
        for (key, values) in swept {
            let values = values.iter().map(written).collect::<PyResult<Vec<_>>>()?;
            if values.is_empty() {
                return Err(ScenarioError::new_err(format!(
                    "{key} has no values to sweep; wrap a list that is one value in another list"
                )));
            }
            grid.push(Swept {
                key: alias(text, key)?,
                values,
            });
        }
        let mut plan = py
            .detach(|| Plan::new(text, seed, &grid))
            .map_err(of_scenario)?;
        let book = match resume {
            None => None,
            Some(path) => Some(Book::open(&path, &mut plan).map_err(|error| {
                PyOSError::new_err(format!("cannot resume from {}: {error}", path.display()))
            })?),
        };
        Ok(Self(Mutex::new(Inner { plan, book })))
    }

    /// The number of runs.
    fn __len__(&self) -> PyResult<usize> {
        self.with(|it| Ok(it.plan.parts().len()))
    }

    /// File and seed of each run that is not finished.
    fn left(&self) -> PyResult<Vec<(String, u64)>> {
        self.with(|it| {
            let left = it.plan.left();
            Ok(left.map(|part| (part.file.clone(), part.seed)).collect())
        })
    }

    /// Runs the unfinished runs in this process.
    fn run(
        &self,
        py: Python<'_>,
        jobs: Option<Units>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let runs = self.with(|it| {
            let runs = it.plan.left().map(|part| part.run.clone());
            Ok(runs.collect::<Vec<SharedRun>>())
        })?;
        let mut finished = |run: usize| {
            let line = sweep::finished_line(&runs[run].document());
            self.with(|it| it.keep(&line))
        };
        run_watched(py, runs.clone(), jobs, progress.as_ref(), &mut finished)
    }

    /// Adds the line of a run that another process finished.
    fn take(&self, line: &str) -> PyResult<()> {
        self.with(|it| match it.plan.take(line) {
            Ok(true) => it.keep(line),
            Ok(false) => Err(PyRuntimeError::new_err(
                "a worker returned an unknown run: does it have another version of taut?",
            )),
            Err(error) => Err(PyRuntimeError::new_err(format!(
                "a worker returned an invalid line: {error}"
            ))),
        })
    }

    /// The rows of all finished runs.
    fn document(&self, py: Python<'_>) -> PyResult<Document> {
        py.detach(|| self.with(|it| Ok(Document(it.plan.document()))))
    }
}

/// Runs a file with a seed, and returns the line for `Sweep.take`.
#[pyfunction]
pub fn finished_line(
    py: Python<'_>,
    text: &str,
    seed: Whole,
    jobs: Option<Units>,
) -> PyResult<String> {
    let run = py
        .detach(|| prepare(text, Some(seed.0)))
        .map_err(of_scenario)?;
    let document = document_of(py, run, jobs, None)?;
    Ok(sweep::finished_line(&document))
}
