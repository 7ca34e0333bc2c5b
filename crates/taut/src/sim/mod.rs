//! Experiments in virtual time.

pub mod cases;
mod common;
pub mod limit_rules;
mod limit_rules_show;
mod many;
pub mod options;
mod output;
pub mod pauses;
mod progress;
pub mod rr_under_load;
mod scenario;
mod sweep;
mod watch;

use std::process::ExitCode;

use options::{Scenario, Sim};
use taut_scenarios::registry::{self, Entry};

use taut_linux::interrupt;
use taut_report::layout::fold;
use taut_report::{say, stdout};

/// `taut sim`.
pub fn sim(sim: &Sim) -> ExitCode {
    // Also while cases are made. What cannot be noted is said when they are run.
    let _ = interrupt::note();
    match &sim.scenario {
        Some(Scenario::RrUnderLoad(options)) => rr_under_load::run(options),
        Some(Scenario::LimitRules(options)) => limit_rules::run(options),
        Some(Scenario::Pauses(options)) => pauses::run(options),
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
