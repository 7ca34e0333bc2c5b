//! Cases, with a progress line, until all are done or the user interrupts them.

use std::process::ExitCode;
use std::sync::Arc;

use taut_scenarios::run::{AnyRun, run_all};

use super::progress::ProgressLine;
use super::watch;
use taut_linux::interrupt::Interrupt;
use taut_report::{exit, say};

/// Runs the cases of `runs` on `jobs` threads, with a progress line, until all are done or somebody
/// asks the process to end, and says who did. `finished` hears of each run that has been run whole.
pub fn run_cases(
    runs: Vec<Arc<dyn AnyRun>>,
    jobs: usize,
    mut finished: impl FnMut(&dyn AnyRun) + Send + 'static,
) -> Result<Option<Interrupt>, ExitCode> {
    let ran = watch::watch(move || {
        let mut progress = ProgressLine::new();
        let mut show = |what: &str, done, all| progress.show(what, done, all);
        run_all(&runs, jobs, &mut show, &mut |run| {
            finished(runs[run].as_ref())
        })
    });
    let (message, code) = match ran {
        Ok(Ok(Ok(()))) => return Ok(None),
        Ok(Err(interrupt)) => return Ok(Some(interrupt)),
        Ok(Ok(Err(error))) => (error.to_string(), exit::USAGE),
        Err(error) => (error.to_string(), exit::FAILED),
    };
    say!("taut: {message}");
    Err(ExitCode::from(code))
}
