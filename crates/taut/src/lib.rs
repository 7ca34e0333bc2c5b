//! The `taut` command, as a library. A program that registers its own limits and disciplines calls
//! [`run`] from its `main`, and has all verbs with them. `examples/own_rule.rs` is such a program.

// These macros panic if they cannot write; `stdout` and `say` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod cli;
mod doctor;
mod exporter;
mod forward;
#[cfg(feature = "lab")]
mod lab;
mod manual;
mod missing;
mod parse;
mod repeat;
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

use clap::FromArgMatches;
use clap::error::ErrorKind;
use taut_path::Registry;
use taut_report::{exit, stdout};

/// Runs the command with `args`; the first is the name of the program. The limits and disciplines
/// of `registry` are available in the options, help and errors of every verb.
pub fn run(args: impl IntoIterator<Item = OsString>, registry: Registry) -> ExitCode {
    if let Err(taken) = registry.install() {
        return exit::failed(taken);
    }
    let args: Vec<OsString> = args.into_iter().collect();
    let matches = cli::command().try_get_matches_from(&args);
    let cli = match matches.and_then(|it| cli::Cli::from_arg_matches(&it)) {
        Ok(cli) => cli,
        Err(error) => {
            return help_topic(&args, &error)
                .or_else(|| absent(&args))
                .unwrap_or_else(|| show(&error));
        }
    };
    let done = match cli.command {
        #[cfg(feature = "sim")]
        None => sim::first_look(),
        #[cfg(not(feature = "sim"))]
        None => {
            let printed = cli::command().print_help();
            Ok(stdout::answer(printed, ExitCode::SUCCESS))
        }
        #[cfg(feature = "sim")]
        Some(cli::Command::Sim(options)) => sim::sim(&options),
        #[cfg(feature = "lab")]
        Some(cli::Command::Lab { scenario }) => Ok(scenario.run()),
        Some(cli::Command::Doctor(options)) => doctor::doctor(&options),
        Some(cli::Command::Exporter(options)) => exporter::exporter(&options),
        Some(cli::Command::Send(options)) => send::send(&options),
        Some(cli::Command::Manual(options)) => manual::manual(&options, cli::command()),
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
    };
    // Both are exit codes; an error was reported where it occurred.
    done.unwrap_or_else(|code| code)
}

/// Prints the page of `taut help TOPIC`, if `args` are that.
fn help_topic(args: &[OsString], error: &clap::Error) -> Option<ExitCode> {
    let [_, help, name] = args else {
        return None;
    };
    let name = name.to_str().filter(|_| help == "help")?;
    if let Some(page) = cli::topic(name) {
        return Some(stdout::print(&page));
    }
    let message = || format!("no help for {name:?}; allowed: a verb, limits, or qdiscs");
    let is_unknown = error.kind() == ErrorKind::InvalidSubcommand;
    is_unknown.then(|| exit::fail(exit::USAGE, message()))
}

/// Reports a missing feature or scenario, if `args` name one.
fn absent(args: &[OsString]) -> Option<ExitCode> {
    let verb = args.get(1)?;
    if let Some((verb, feature)) = cli::ABSENT.iter().find(|(name, _)| *name == verb) {
        return Some(exit::fail(exit::USAGE, missing::feature(verb, feature)));
    }
    #[cfg(feature = "sim")]
    if verb == "sim"
        && let Some(message) = args
            .get(2)
            .and_then(|name| sim::unknown_scenario(name.to_str()?))
    {
        return Some(exit::fail(exit::USAGE, message));
    }
    None
}

/// Prints the help, the version, or the error in the command line.
fn show(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    if error.use_stderr() {
        return ExitCode::from(exit::USAGE);
    }
    stdout::answer(printed, ExitCode::SUCCESS)
}
