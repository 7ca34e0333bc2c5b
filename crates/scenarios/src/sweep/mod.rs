//! Sweeps over every combination of settings, with stored results.

mod book;
mod plan;
pub(crate) mod swept;

use std::sync::Arc;

use crate::error::ScenarioError;
use crate::registry::{DEFAULT_SEED, prepare_one};
use crate::run::{Progress, SharedRun, run_all};
use taut_report::document::Document;

pub use book::Book;
pub use plan::{Part, Plan, finished_line};
pub use swept::Swept;

/// Prepares a run of a scenario file, with [`DEFAULT_SEED`] if `seed` is `None`. A file with a
/// `[sweep]` table is a run of every combination.
///
/// # Errors
/// If the file cannot be parsed (with line and column), or a setting is out of its range.
pub fn prepare(text: &str, seed: Option<u64>) -> Result<SharedRun, ScenarioError> {
    let seed = seed.unwrap_or(DEFAULT_SEED);
    let (file, swept) = swept::of_file(text)?;
    if swept.is_empty() {
        return prepare_one(&file, seed);
    }
    Ok(Arc::new(Plan::new(text, seed, &[])?))
}

/// Runs a scenario file on `jobs` threads.
///
/// # Errors
/// Returns the errors of [`prepare`]. Also fails if a queue becomes faulty.
pub fn run(
    text: &str,
    seed: Option<u64>,
    jobs: usize,
    progress: Progress,
) -> Result<Document, ScenarioError> {
    let run = prepare(text, seed)?;
    run_all(std::slice::from_ref(&run), jobs, progress, &mut |_| {})?;
    Ok(run.document())
}
