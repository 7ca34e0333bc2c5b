//! Sweeps: every combination of setting values, with finished runs kept in a file.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use taut_scenarios::registry::DEFAULT_SEED;
use taut_scenarios::sweep::{Book, Plan, finished_line};

use super::cases::run_cases;
use super::output::Output;
use taut_linux::interrupt::Interrupt;
use taut_report::{exit, say};

/// Runs `file` with every combination of `options`, and prints the rows of all.
pub fn run(file: &str, seed: u64, output: &Output) -> Result<ExitCode, ExitCode> {
    if seed != DEFAULT_SEED && output.sweep.iter().any(|it| it.key == "seed") {
        let message =
            format!("--seed {seed} conflicts with --sweep seed: list all seeds in --sweep");
        return Err(exit::fail(exit::USAGE, message));
    }
    let plan = Plan::new(file, seed, &output.sweep);
    let mut plan = plan.map_err(|error| exit::fail(exit::USAGE, error))?;
    let interrupt = run_left(&mut plan, output)?;
    Ok(output.emit(&plan, interrupt, Some(seed)))
}

/// Executes the unfinished runs, and adds each to the file of finished runs.
fn run_left(plan: &mut Plan, options: &Output) -> Result<Option<Interrupt>, ExitCode> {
    let mut book = None;
    if let Some(path) = &options.resume {
        let opened = Book::open(path, plan).map_err(|error| {
            let message = format!("cannot resume from {}: {error}", path.display());
            exit::fail(exit::FAILED, message)
        })?;
        book = Some(opened);
    }
    let left: Vec<_> = plan.left().map(|part| part.run.clone()).collect();
    let runs = plan.parts().len();
    let finished = Arc::new(AtomicUsize::new(runs - left.len()));
    let unwritten = Arc::new(OnceLock::new());
    let interrupt = {
        let (unwritten, finished) = (unwritten.clone(), finished.clone());
        run_cases(left, options.jobs(), move |run| {
            finished.fetch_add(1, Ordering::Relaxed);
            if let Some(book) = &mut book
                && let Err(error) = book.add(&finished_line(&run.document()))
            {
                let _ = unwritten.set(error);
            }
        })?
    };
    if let Some(path) = &options.resume {
        let path = path.display();
        if let Some(error) = unwritten.get() {
            say!("taut: cannot store runs in {path}: {error}");
        } else if interrupt.is_some() {
            let finished = finished.load(Ordering::Relaxed);
            say!(
                "taut: {path} keeps {finished} of {runs} runs; a run is kept when all its rows are \
                 finished"
            );
        }
    }
    Ok(interrupt)
}
