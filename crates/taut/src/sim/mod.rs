//! Experiments in virtual time.

pub mod cases;
pub mod limit_rules;
pub mod options;
pub mod output;
mod progress;
pub mod rr_under_load;
pub mod scenario;
mod sweep;

use std::process::ExitCode;

use clap::Subcommand;
use options::{BuiltIn, Scenario, Sim};
use taut_scenarios::registry::{self, Entry};

use crate::missing;
use taut_linux::interrupt;
use taut_report::layout::fold;
use taut_report::{say, stdout};

/// `taut sim`.
pub fn sim(sim: &Sim) -> Result<ExitCode, ExitCode> {
    // Interrupts count from here, while cases are built. `run_cases` reports a failure of the call.
    let _ = interrupt::note();
    match &sim.scenario {
        Some(Scenario::RrUnderLoad(options)) => rr_under_load::run(options),
        Some(Scenario::LimitRules(options)) => limit_rules::run(options),
        Some(Scenario::Run { file, common }) => scenario::run_file(file, common),
        Some(Scenario::BuiltIn(BuiltIn { entry, common })) => scenario::run(entry.file, common),
        // Without a scenario and without `--list`, clap prints the usage.
        None => Ok(list()),
    }
}

/// Returns the message for a scenario that does not exist; `None` for an option or a scenario.
pub fn unknown_scenario(name: &str) -> Option<String> {
    if name.starts_with('-') || name == "help" || Scenario::has_subcommand(name) {
        return None;
    }
    let names = registry::ALL.iter().map(|entry| entry.name);
    Some(missing::no_such("scenario", name, names))
}

/// `taut` alone: simulates the published experiment, in a second.
pub fn first_look() -> Result<ExitCode, ExitCode> {
    let done = rr_under_load::published();
    say!(
        "\nThis was simulated. To run it live, with real TCP, as root:\n  taut lab rr-under-load\n\
         More: taut --help"
    );
    done
}

/// Columns of a scenario's name in the list.
const NAME_COLUMNS: usize = 17;

fn list() -> ExitCode {
    let line = |entry: &Entry| {
        let line = format!("{:<16} {}", entry.name, entry.description().about);
        fold(&line, NAME_COLUMNS, stdout::columns())
    };
    let lines: String = registry::ALL.iter().map(line).collect();
    stdout::print(&lines)
}
