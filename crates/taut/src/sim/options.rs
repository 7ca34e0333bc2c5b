//! What `taut sim` accepts.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use taut_scenarios::registry::{self, Entry};

use super::common::Common;
use super::{limit_rules, pauses, rr_under_load};

/// Experiments in virtual time, on any machine.
///
/// No privilege is needed, and a seed gives the same figures on every run.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub struct Sim {
    /// List the scenarios, one a line
    #[arg(long)]
    pub list: bool,

    #[command(subcommand)]
    pub scenario: Option<Scenario>,
}

/// What is run.
#[derive(Debug)]
pub enum Scenario {
    /// The experiment that the lab runs live.
    RrUnderLoad(Box<rr_under_load::RrUnderLoadOptions>),
    /// Limit rules on patterns.
    LimitRules(Box<limit_rules::LimitRulesOptions>),
    /// Limit rules and pauses.
    Pauses(Box<pauses::PausesOptions>),
    /// A file.
    File(PathBuf, Common),
    /// One of the registry.
    BuiltIn(&'static Entry, Common),
}

#[derive(Subcommand)]
enum Fixed {
    /// Bulk TCP streams saturate a link while one request/response runs at high priority.
    ///
    /// The same transmit path and the same emulated NIC as in the lab, in virtual time: no
    /// privilege, and the same figures on every run of a seed.
    RrUnderLoad(Box<rr_under_load::RrUnderLoadOptions>),

    /// Limit rules on completion patterns, beside the least fixed limit that is enough.
    ///
    /// Every rule on every pattern: the published six (p..), families of our own (f..), or files.
    /// A short run; the long comparison is scripts/limit-rules.sh.
    LimitRules(Box<limit_rules::LimitRulesOptions>),

    /// What a pause of the sender or of its thread does to a limit.
    ///
    /// Every rule on every ring, link rate and pause, compared with the same run without a pause.
    Pauses(Box<pauses::PausesOptions>),

    /// Run a scenario file.
    Run {
        /// A TOML file that names a scenario and its settings
        file: PathBuf,
        #[command(flatten)]
        common: Box<Common>,
    },
}

/// The scenarios of the registry that are not commands of their own.
fn built_in() -> impl Iterator<Item = &'static Entry> {
    let own = |entry: &&Entry| Fixed::has_subcommand(entry.name);
    registry::ALL.iter().filter(move |entry| !own(entry))
}

// By hand, for the registry's names are not known to the derive.
impl Subcommand for Scenario {
    fn augment_subcommands(command: Command) -> Command {
        let to_command =
            |entry: &Entry| Common::augment_args(Command::new(entry.name)).about(entry.about);
        Fixed::augment_subcommands(command).subcommands(built_in().map(to_command))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Fixed::has_subcommand(name) || built_in().any(|entry| entry.name == name)
    }
}

impl FromArgMatches for Scenario {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand();
        if let Some((name, below)) = chosen
            && let Some(entry) = built_in().find(|entry| entry.name == name)
        {
            return Ok(Self::BuiltIn(entry, Common::from_arg_matches(below)?));
        }
        Ok(match Fixed::from_arg_matches(matches)? {
            Fixed::RrUnderLoad(options) => Self::RrUnderLoad(options),
            Fixed::LimitRules(options) => Self::LimitRules(options),
            Fixed::Pauses(options) => Self::Pauses(options),
            Fixed::Run { file, common } => Self::File(file, *common),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
