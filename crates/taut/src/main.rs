//! The `taut` command.

mod cli;
mod lab;
mod report;
mod rr;
mod sim;
mod stdout;

use std::process::ExitCode;

use clap::Parser;

/// Exit codes, the same for every subcommand. Usage errors exit with 2 (clap's own choice too).
mod exit {
    /// Something failed.
    pub const FAILED: u8 = 1;
    /// A value was understood but cannot be.
    pub const USAGE: u8 = 2;
    /// Something was measured that must not be.
    pub const DOES_NOT_HOLD: u8 = 3;
    /// No privilege or kernel feature; what automake and friends read as "skipped".
    pub const CANNOT_RUN_HERE: u8 = 77;
}

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.command {
        None => sim::first_look(),
        Some(cli::Command::Sim(options)) => sim::sim(&options),
        Some(cli::Command::Predictions(options)) => sim::predictions::run(&options),
        Some(cli::Command::Lab {
            scenario: cli::LabScenario::RrUnderLoad(options),
        }) => lab::rr_under_load(&options),
        Some(cli::Command::Lab {
            scenario: cli::LabScenario::TwoThreads(options),
        }) => lab::two_threads::two_threads(&options),
    }
}
