//! Options of `taut sim`.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use taut_scenarios::registry::{self, Entry};

use super::output::Common;
use super::{limit_rules, rr_under_load};

/// Run experiments in virtual time, on any machine
///
/// Needs no privilege. The same seed gives the same results on every machine.
#[derive(Debug, Args)]
#[command(after_help = NUMBERS, after_long_help = format!("{NUMBERS}\n{AFTER_HELP}"))]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub struct Sim {
    /// List the scenarios, one per line
    #[arg(long)]
    pub list: bool,

    #[command(subcommand)]
    pub scenario: Option<Scenario>,
}

/// The scenario to run.
#[derive(Debug, Subcommand)]
pub enum Scenario {
    /// Measure request/response latency while bulk TCP streams saturate the link
    ///
    /// The transmit path and the emulated NIC of the lab, in virtual time. Needs no privilege. The
    /// same seed gives the same results.
    #[command(after_long_help = AFTER_HELP_RR)]
    RrUnderLoad(Box<rr_under_load::RrUnderLoadOptions>),

    /// Compare limits on completion traces with the smallest fixed limit that suffices
    ///
    /// Runs every limit on every trace: the six published ones (p..), synthetic traces (f..), or
    /// files. The reference is the smallest fixed limit that reaches the trace's target
    /// utilisation, found afterwards. This is a short run; the long comparison is
    /// scripts/limit-rules.sh.
    #[command(after_long_help = AFTER_HELP_LIMIT_RULES)]
    LimitRules(Box<limit_rules::LimitRulesOptions>),

    /// Run a scenario file
    #[command(after_long_help = AFTER_HELP_RUN)]
    Run {
        /// TOML file: scenario = "NAME", and settings
        ///
        /// crates/scenarios/files/NAME.toml has all settings of a scenario with their defaults.
        file: PathBuf,
        #[command(flatten)]
        common: Box<Common>,
    },

    #[command(flatten)]
    BuiltIn(BuiltIn),
}

/// A scenario of the registry, with the options of all scenarios.
#[derive(Debug)]
pub struct BuiltIn {
    pub entry: &'static Entry,
    pub common: Box<Common>,
}

const NUMBERS: &str = "E1 to E13: experiments of book/experiments.md";

const AFTER_HELP: &str = "\
Examples:
  taut sim --list
  taut sim right-size --report right-size.html";

const AFTER_HELP_RR: &str = "\
Examples:
  taut sim rr-under-load --limit dql --limit taut
  taut sim rr-under-load --only tso=off --trace queue.trace --trace-row dql";

const AFTER_HELP_LIMIT_RULES: &str = "\
Examples:
  taut sim limit-rules --only p01 --limit dql --limit taut
  taut sim limit-rules --pattern trace.txt --report limit-rules.html";

const AFTER_HELP_RUN: &str = "\
Examples:
  taut sim run scenario.toml
  taut sim run scenario.toml --sweep seed=1,2,3 --resume runs.jsonl";

/// Scenarios with options of their own.
const OWN_OPTIONS: &str = "limit-rules rr-under-load";

/// Returns the scenarios of the registry without options of their own.
fn built_in() -> impl Iterator<Item = &'static Entry> {
    let all = registry::ALL.iter();
    all.filter(|entry| !is_in(OWN_OPTIONS, entry.name))
}

/// Scenarios with rows that can be traced.
const TRACEABLE: &str = "aperiodic blind-sender late-segmentation limit-over-time never-worse \
                         rate-change right-size rr-sizes rr-under-load";
/// Scenarios with rows that have a wire between two hosts.
const CAPTURABLE: &str = "late-segmentation rr-sizes rr-under-load";

fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|it| it == name)
}

/// Hides the options of traces and captures of a scenario that has none.
fn hide_absent(command: Command) -> Command {
    let name = command.get_name();
    let lacks = |names| name != "run" && !is_in(names, name);
    let (no_trace, no_capture) = (lacks(TRACEABLE), lacks(CAPTURABLE));
    command.mut_args(|arg| {
        let id = arg.get_id().as_str();
        let hidden = no_trace && id.starts_with("trace") || no_capture && id.starts_with("pcap");
        arg.hide(hidden)
    })
}

// Not derived: the names come from the registry at run time.
impl Subcommand for BuiltIn {
    /// Also adapts the subcommands that `command` already has.
    fn augment_subcommands(command: Command) -> Command {
        let to_command = |entry: &'static Entry| {
            let command = Common::augment_args(Command::new(entry.name));
            let command = command.about(&*entry.description().about);
            command.after_long_help(format!(
                "Examples:\n  taut sim {0}\n  taut sim {0} --seed 2 --report {0}.html",
                entry.name
            ))
        };
        let command = command.subcommands(built_in().map(to_command));
        command.mut_subcommands(hide_absent)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        built_in().any(|entry| entry.name == name)
    }
}

impl FromArgMatches for BuiltIn {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, below)| {
            let entry = built_in().find(|entry| entry.name == name)?;
            Some((entry, below))
        });
        let (entry, below) =
            chosen.ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))?;
        let common = Box::new(Common::from_arg_matches(below)?);
        Ok(Self { entry, common })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_scenarios::sweep;
    use taut_scenarios::tracing::{self, Tap};

    #[test]
    fn hidden_outputs_are_those_without_rows() {
        for entry in registry::ALL {
            let run = sweep::prepare(entry.file, None).expect("a built-in scenario");
            let has = |tap| tracing::check(&*run, tap, "").is_ok();
            let listed = |names| is_in(names, entry.name);
            assert_eq!(listed(TRACEABLE), has(Tap::Queue), "{}", entry.name);
            assert_eq!(listed(CAPTURABLE), has(Tap::Wire), "{}", entry.name);
        }
    }
}
