//! Runs cases with a progress line, until all are done or the user interrupts.

use std::fmt::Display;
use std::io;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_scenarios::error::ScenarioError;
use taut_scenarios::run::{AnyRun, SharedRun, run_all};

use super::output::Output;
use super::progress::progress_line;
use taut_linux::interrupt::{Interrupt, note, noted};
use taut_report::exit;

/// Runs `run` and writes the requested output: the document or its table, a page, traces.
pub fn show(run: SharedRun, output: &Output, seed: Option<u64>) -> Result<ExitCode, ExitCode> {
    output.check(&*run)?;
    let interrupt = run_cases(vec![run.clone()], output.jobs(), |_| {})?;
    Ok(output.emit(&*run, interrupt, seed))
}

/// Reports an error of a scenario or of a file that it reads, after `what`.
pub fn failed(what: impl Display, error: &ScenarioError) -> ExitCode {
    let code = match error {
        ScenarioError::Io(_) => exit::FAILED,
        _ => exit::USAGE,
    };
    exit::fail(code, format_args!("{what}{error}"))
}

/// Runs the cases of `runs` on `jobs` threads, with a progress line. Returns the interrupt that
/// ended the runs early, if there was one. Calls `finished` for each complete run.
pub fn run_cases(
    runs: Vec<SharedRun>,
    jobs: usize,
    mut finished: impl FnMut(&dyn AnyRun) + Send + 'static,
) -> Result<Option<Interrupt>, ExitCode> {
    let ran = watch(move || {
        run_all(&runs, jobs, &mut progress_line(), &mut |run| {
            finished(runs[run].as_ref())
        })
    });
    match ran {
        Ok(Ok(Ok(()))) => Ok(None),
        Ok(Err(interrupt)) => Ok(Some(interrupt)),
        Ok(Ok(Err(error))) => Err(failed("", &error)),
        Err(error) => Err(exit::fail(exit::FAILED, error)),
    }
}

/// Interval at which interrupts are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The usual stack size of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` on a separate thread, until it is done or the process is interrupted. After an
/// interrupt the thread keeps running until the process exits, so `work` must store its results
/// elsewhere.
fn watch<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Result<T, Interrupt>> {
    note()?;
    let (send, done) = channel();
    let worker = thread::Builder::new()
        .name("run".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // After an interrupt, the receiver is dropped.
            let _ = send.send(work());
        })?;
    loop {
        match done.recv_timeout(CHECK_INTERVAL) {
            Ok(result) => return Ok(Ok(result)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the thread sends before it ends"),
            },
        }
        if let Some(interrupt) = noted() {
            return Ok(Err(interrupt));
        }
    }
}
