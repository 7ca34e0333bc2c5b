//! Sweeps: every combination of setting values, with finished runs kept in a file.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use taut_report::document::Document;
use taut_scenarios::registry::DEFAULT_SEED;
use taut_scenarios::run::AnyRun;
use taut_scenarios::sweep::{Book, Plan, finished_line};

use super::cases::run_cases;
use super::output::Output;
use taut_linux::interrupt::Interrupt;
use taut_report::emit;
use taut_report::text::text;
use taut_report::{exit, say, stdout};

/// Runs `file` with every combination of `options`, and prints the rows of all.
pub fn run(file: &str, seed: u64, output: &Output) -> Result<ExitCode, ExitCode> {
    if seed != DEFAULT_SEED && output.sweep.iter().any(|it| it.key == "seed") {
        let message =
            format!("--seed {seed} conflicts with --sweep seed: list all seeds in --sweep");
        return Err(exit::fail(exit::USAGE, message));
    }
    let (document, interrupt) = run_all(file, seed, output)?;
    let table = || text(&document, stdout::columns());
    let shown = emit::print(&document, output.form(), table);
    Ok(interrupt.map_or(shown, |interrupt| {
        emit::interrupted(interrupt.exit_code(), document.rows.len(), shown)
    }))
}

type Finished = (Document, Option<Interrupt>);

fn run_all(file: &str, seed: u64, options: &Output) -> Result<Finished, ExitCode> {
    let plan = Plan::new(file, seed, &options.sweep);
    let mut plan = plan.map_err(|error| exit::fail(exit::USAGE, error))?;
    let mut book = None;
    if let Some(path) = &options.resume {
        let opened = Book::open(path, &mut plan).map_err(|error| {
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
    let document = Document {
        interrupted: interrupt.is_some(),
        ..plan.document()
    };
    Ok((document, interrupt))
}
