//! What the command line accepts.

use clap::{Parser, Subcommand};

use crate::doctor::Doctor;
use crate::exporter::Exporter;
use crate::forward::options::Forward;
#[cfg(feature = "lab")]
use crate::lab::LabScenario;
use crate::manual::Manual;
use crate::record::Record;
#[cfg(feature = "sim")]
use crate::replay::options::Replay;
use crate::send::options::Send;
use crate::set::Set;
use crate::show::Show;
#[cfg(feature = "sim")]
use crate::sim::options::Sim;
use crate::top::Top;
use crate::r#where::Where;

/// Keeps a transmit queue just full enough.
#[cfg_attr(
    feature = "sim",
    doc = "\n\nWithout a command: the published experiment, simulated in a second."
)]
#[derive(Debug, Parser)]
#[command(name = "taut", version, about)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(feature = "sim")]
    Sim(Sim),
    /// Experiments with real traffic, in network namespaces of their own.
    #[cfg(feature = "lab")]
    Lab {
        #[command(subcommand)]
        scenario: LabScenario,
    },
    Send(Send),
    #[command(after_help = AFTER_HELP_FORWARD)]
    Forward(Forward),
    /// Turns receive offloads off until its standard input ends: a process that `forward` starts.
    #[command(name = crate::forward::KEEPER, hide = true)]
    KeepOffloadsOff {
        /// Also those that take VLAN tags off
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
    Record(Record),
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

const AFTER_HELP_FORWARD: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Both interfaces are made promiscuous, and their receive offloads turned off, for as long as it runs;
super-packets are cut, open checksums finished. Give the interfaces no addresses: what is for this host is
forwarded as well. Needs root; keeps only CAP_NET_RAW once its sockets are open, and with af_xdp CAP_IPC_LOCK
where the limit of locked memory cannot be raised. A ring that is opened again later has the send buffer that
net.core.wmem_max allows.
A limit means nothing where completions do not say when a frame left (a plain veth): the summary says so.
Exit codes: 0 done, also after Ctrl-C; 1 failed, 2 bad usage, 3 a frame is unaccounted for,
77 cannot run here.";
