//! The verbs of the command line.

mod headings;
#[cfg(test)]
mod tests;

use clap::{CommandFactory, Parser, Subcommand};
use taut_path::Registry;
use taut_path::limit::limits_help;
use taut_path::qdisc::DISCIPLINES;
use taut_report::layout::fold;

use crate::doctor::Doctor;
use crate::exporter::Exporter;
use crate::forward::options::Forward;
#[cfg(feature = "lab")]
use crate::lab::LabScenario;
use crate::manual::Manual;
#[cfg(feature = "sim")]
use crate::replay::options::Replay;
use crate::send::options::Send;
use crate::set::Set;
use crate::show::Show;
#[cfg(feature = "sim")]
use crate::sim::options::Sim;
use crate::top::Top;
use crate::r#where::Where;

/// Byte queue limits for transmit rings: lab, simulator, diagnosis
#[derive(Debug, Parser)]
#[command(name = "taut", version, about, long_about = None, after_help = after_help())]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(feature = "sim")]
    Sim(Sim),
    /// Run experiments with real traffic, in separate network namespaces
    #[cfg(feature = "lab")]
    #[command(after_long_help = AFTER_HELP_LAB)]
    Lab {
        #[command(subcommand)]
        scenario: LabScenario,
    },
    Send(Send),
    Forward(Forward),
    /// Turn receive offloads off until standard input ends: the helper process of `forward`
    #[command(name = crate::forward::OFFLOAD_COMMAND, hide = true)]
    KeepOffloadsOff {
        /// Turn VLAN tag stripping off too
        #[arg(long)]
        tags: bool,
        devices: Vec<String>,
    },
    Show(Show),
    Top(Top),
    Doctor(Doctor),
    Where(Where),
    Set(Set),
    Exporter(Exporter),
    #[cfg(feature = "sim")]
    Replay(Replay),
    #[command(hide = true)]
    Manual(Manual),
}

/// The verbs that this build lacks, and the feature that each needs.
pub const ABSENT: &[(&str, &str)] = &[
    #[cfg(not(feature = "lab"))]
    ("lab", "lab"),
    #[cfg(not(feature = "sim"))]
    ("sim", "sim"),
    #[cfg(not(feature = "sim"))]
    ("replay", "sim"),
];

fn after_help() -> String {
    let alone = if cfg!(feature = "sim") { ALONE } else { "" };
    format!("{alone}{AFTER_HELP}")
}

const ALONE: &str = "\
Without a command: simulate bulk TCP and one request on a 1 Gbit/s link (about one second).
";

const AFTER_HELP: &str = "\
Topics: taut help limits (values of --limit), taut help qdiscs (values of --qdisc)
Examples:
  taut show
  taut doctor --duration 5s";

#[cfg(feature = "lab")]
const AFTER_HELP_LAB: &str = "\
Examples:
  taut lab rr-under-load --only tso=off
  taut lab forward --rate 20mbit";

/// Returns the command with the options of all verbs under headings.
pub fn command() -> clap::Command {
    headings::add(Cli::command())
}

/// Returns the page of `taut help TOPIC`, or `None` for an unknown topic.
pub fn topic(name: &str) -> Option<String> {
    match name {
        "limits" => Some(format!("Values of --limit:\n{}\n{LIMITS}", limits_help())),
        "qdiscs" => {
            let registry = Registry::installed();
            let qdiscs: String = registry.qdiscs().map(qdisc_help).collect();
            Some(QDISCS.to_owned() + &qdiscs)
        }
        _ => None,
    }
}

const LIMITS: &str = "
Parts follow in this order: taut:99.5%:packets:2ms. SHARE is the target utilisation of the link,
50% to 99.999%. TIME is a cap of any limit above, as in off:2ms or 40k:2ms: the bytes that the link
sends in TIME.

Additional values of some verbs:
  fixed             smallest fixed limit that reaches the target utilisation of the trace
                    (sim limit-rules)
  LIMIT every TIME  completions coalesced to this interval (sim limit-rules, replay)

A limit restricts the bytes or packets in flight: submitted to the device and not yet reported
complete. Sizes are as in tc (40k is 40960 bytes), times need a unit (2ms). In output, k and K are
1000.
";

const QDISCS: &str = "\
Queueing disciplines (qdiscs). Parameters are as in tc, except total and seed:
";

/// Returns a discipline with its parameters; a registered one describes its parameters itself.
fn qdisc_help((name, help): (&str, &str)) -> String {
    let built_in = DISCIPLINES.iter().find(|it| it.name == name);
    let usage = built_in.map_or(String::new(), |it| it.usage());
    fold(format!("  {name} {usage}").trim_end(), 6, Some(100)) + &format!("      {help}\n")
}
