//! The `taut` command, as a library: a program with limits and disciplines of its own calls [`run`]
//! from its `main`, and has all verbs with them. `examples/own_rule.rs` is one.

// They panic where nothing can be written; `stdout` and `say` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod cli;
mod doctor;
mod exporter;
mod forward;
#[cfg(feature = "lab")]
mod lab;
mod manual;
mod parse;
mod record;
#[cfg(feature = "sim")]
mod replay;
#[cfg(any(feature = "lab", feature = "sim"))]
mod rr;
mod selection;
mod send;
mod set;
mod show;
#[cfg(feature = "sim")]
mod sim;
mod top;
mod r#where;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use taut_path::Registry;
use taut_report::{exit, stdout};

/// Runs the command with `args`, of which the first is the name of the program. The limits and
/// disciplines of `registry` are available to every verb, in options, help and errors.
pub fn run(args: impl IntoIterator<Item = OsString>, registry: Registry) -> ExitCode {
    if let Err(taken) = registry.install() {
        return exit::fail(exit::FAILED, taken);
    }
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match cli::Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(shown) => return absent(&args).unwrap_or_else(|| show(&shown)),
    };
    match cli.command {
        None => first_look(),
        #[cfg(feature = "sim")]
        Some(cli::Command::Sim(options)) => sim::sim(&options),
        #[cfg(feature = "lab")]
        Some(cli::Command::Lab { scenario }) => scenario.run(),
        Some(cli::Command::Doctor(options)) => doctor::doctor(&options),
        Some(cli::Command::Exporter(options)) => exporter::exporter(&options),
        Some(cli::Command::Send(options)) => send::send(&options),
        Some(cli::Command::Manual(options)) => manual::manual(&options, cli::Cli::command()),
        Some(cli::Command::Record(options)) => record::record(&options),
        #[cfg(feature = "sim")]
        Some(cli::Command::Replay(options)) => replay::run(&options),
        Some(cli::Command::Where(options)) => r#where::where_(&options),
        Some(cli::Command::Set(options)) => set::set(&options),
        Some(cli::Command::Forward(options)) => forward::forward(&options),
        Some(cli::Command::KeepOffloadsOff { tags, devices }) => {
            forward::keep_offloads(&devices, tags)
        }
        Some(cli::Command::Top(options)) => top::top(&options),
        Some(cli::Command::Show(options)) => show::show(&options),
    }
}

/// `taut` alone: the published experiment.
#[cfg(feature = "sim")]
fn first_look() -> ExitCode {
    sim::first_look()
}

/// `taut` alone: the help, since this build has no simulator.
#[cfg(not(feature = "sim"))]
fn first_look() -> ExitCode {
    let printed = cli::Cli::command().print_help();
    stdout::answer(printed, ExitCode::SUCCESS)
}

/// Reports the feature that a verb needs, if this build lacks the verb.
fn absent(args: &[OsString]) -> Option<ExitCode> {
    let verb = args.get(1)?;
    let (verb, feature) = cli::ABSENT.iter().find(|(name, _)| *name == verb)?;
    let message = format_args!("this build has no `{verb}`: it needs the feature `{feature}`");
    Some(exit::fail(exit::USAGE, message))
}

/// Help, the version, or what is wrong with the command line.
fn show(shown: &clap::Error) -> ExitCode {
    let printed = shown.print();
    if shown.use_stderr() {
        return ExitCode::from(exit::USAGE);
    }
    stdout::answer(printed, ExitCode::SUCCESS)
}
