//! Experiments in virtual time.

pub mod limit_rules;
mod limit_rules_show;
pub mod options;
mod output;
pub mod predictions;
mod progress;
pub mod rr_under_load;
mod scenario;
mod sweep;

use std::process::ExitCode;
use std::sync::Arc;

use options::{Scenario, Sim};
use taut_scenarios::registry::{self, Entry};
use taut_scenarios::run::{AnyRun, run_all};

use crate::interrupt::{self, Interrupt};
use crate::talk::say;
use crate::{exit, stdout};
use progress::Progress;
use taut_report::layout::fold;

/// `taut sim`.
pub fn sim(sim: &Sim) -> ExitCode {
    // Also while cases are made. What cannot be noted is said when they are run.
    let _ = interrupt::note();
    match &sim.scenario {
        Some(Scenario::RrUnderLoad(options)) => rr_under_load::run(options),
        Some(Scenario::LimitRules(options)) => limit_rules::run(options),
        Some(Scenario::File(path, common)) => scenario::run_file(path, common),
        Some(Scenario::BuiltIn(entry, common)) => scenario::run_named(entry, common),
        // Without a scenario there is a list, or the usage would have been shown.
        None => list(),
    }
}

/// `taut` alone: what it is about, in a second.
pub fn first_look() -> ExitCode {
    let done = rr_under_load::published();
    say!(
        "\nThis was simulated. The same live, with real TCP, as root:\n  taut lab rr-under-load\n\
         More: taut --help"
    );
    done
}

/// Runs the cases of `runs` on `jobs` threads, with a progress line, until all are done or somebody
/// asks the process to end, and says who did. `finished` hears of each run that has been run whole.
pub fn run_cases(
    runs: Vec<Arc<dyn AnyRun>>,
    jobs: usize,
    mut finished: impl FnMut(&dyn AnyRun) + Send + 'static,
) -> Result<Option<Interrupt>, ExitCode> {
    let ran = interrupt::watch(move || {
        let mut progress = Progress::new();
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

/// Columns of a scenario's name in the list.
const NAME_COLUMNS: usize = 17;

fn list() -> ExitCode {
    let line = |entry: &Entry| {
        let line = format!("{:<16} {}", entry.name, entry.about);
        fold(&line, NAME_COLUMNS, stdout::columns())
    };
    let lines: String = registry::ALL.iter().map(line).collect();
    stdout::print(&lines)
}
