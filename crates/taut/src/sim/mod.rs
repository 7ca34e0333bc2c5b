//! Experiments in virtual time.

mod command;
pub mod limit_rules;
mod limit_rules_show;
pub mod options;
mod output;
pub mod predictions;
mod progress;
mod rr_charts;
pub mod rr_under_load;
mod scenario;

use std::process::ExitCode;

use options::{Scenario, Sim};
use taut_sim::scenario::registry::{self, Entry};

use crate::stdout;

/// `taut sim`.
pub fn sim(sim: &Sim) -> ExitCode {
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
    eprintln!(
        "\nThis was simulated. The same live, with real TCP, as root: taut lab rr-under-load\n\
         More: taut --help"
    );
    done
}

fn list() -> ExitCode {
    let line = |entry: &Entry| format!("{:<16} {}\n", entry.name, entry.about);
    let lines: String = registry::ALL.iter().map(line).collect();
    stdout::print(&lines)
}
