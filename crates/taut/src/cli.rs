//! What the command line accepts.

use clap::{Parser, Subcommand};

use crate::doctor::options::Doctor;
use crate::exporter::options::Exporter;
use crate::lab::options::RrUnderLoad;
use crate::lab::two_threads::TwoThreads;
use crate::observe::show::Show;
use crate::send::options::Send;
use crate::set::options::Set;
use crate::sim::options::Sim;
use crate::sim::predictions::Predictions;

/// Keeps a transmit queue just full enough.
///
/// Without a command: the published experiment, simulated in a second.
#[derive(Debug, Parser)]
#[command(name = "taut", version, about)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Sim(Sim),
    /// Every published figure beside the predicted one, as a Markdown page.
    Predictions(Predictions),
    /// Experiments with real traffic, in network namespaces of their own.
    Lab {
        #[command(subcommand)]
        scenario: LabScenario,
    },
    Doctor(Doctor),
    Exporter(Exporter),
    Send(Send),
    Set(Set),
    Show(Show),
}

#[derive(Debug, Subcommand)]
pub enum LabScenario {
    /// Bulk TCP streams saturate a link while one request/response runs at high priority.
    ///
    /// Two network namespaces with kernel TCP, joined by taut's transmit path and an emulated NIC
    /// (or an AF_PACKET ring). One row for each of limit off/on and TSO on/off: bytes in the ring,
    /// transactions and their latency, goodput, with the published figures beside them.
    #[command(after_help = AFTER_HELP)]
    RrUnderLoad(RrUnderLoad),
    /// A sending and a completing thread share one transmit queue over an AF_PACKET ring.
    ///
    /// Two network namespaces with a veth between, shaped or not. What is carried, what became of
    /// every packet, who slept and was woken, and whether a wake-up was lost.
    #[command(after_help = AFTER_HELP_TWO_THREADS)]
    TwoThreads(TwoThreads),
}

const AFTER_HELP: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Needs root, or a kernel that lets users make user namespaces and open /dev/net/tun.
After Ctrl-C or SIGTERM the finished rows are shown; a second one ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here, 130 or 143 interrupted.";

const AFTER_HELP_TWO_THREADS: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Needs root, or a kernel that lets users make user namespaces.
After Ctrl-C or SIGTERM what was measured by then is shown; a second one ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 3 a packet or a wake-up was lost,
77 cannot run here, 130 or 143 interrupted.";
