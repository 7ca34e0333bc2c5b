//! What the command line accepts.

use clap::{Parser, Subcommand};

use crate::doctor::Doctor;
use crate::exporter::Exporter;
use crate::forward::options::Forward;
use crate::lab::forward::LabForward;
use crate::lab::options::RrUnderLoad;
use crate::lab::quic::LabQuic;
use crate::lab::ring::RingSweep;
use crate::manual::Manual;
use crate::record::Record;
use crate::replay::options::Replay;
use crate::send::options::Send;
use crate::set::Set;
use crate::show::Show;
use crate::sim::options::Sim;
use crate::top::Top;
use crate::r#where::Where;

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
    /// Experiments with real traffic, in network namespaces of their own.
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
    Replay(Replay),
    #[command(hide = true)]
    Manual(Manual),
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
    /// The forwarder beside the kernel's own bridge: ping under load and goodput.
    ///
    /// Three network namespaces: bulk TCP streams go from a fast link into a slow one, through the kernel's
    /// bridge or through ours, without a limit, with one queue, and with fq_codel under a limit, so that
    /// one sees what comes from which.
    #[command(after_help = AFTER_HELP_LAB_FORWARD)]
    Forward(LabForward),
    /// Fixed depths of a ring against the limits, over AF_PACKET and AF_XDP.
    ///
    /// Two network namespaces with a veth between for each row: shaped (for AF_XDP below a macvlan), with
    /// a peer that polls, and plain. Packets a second, bytes in flight and the time to completion of
    /// every depth and limit; and what each limit gives beside the least depth that is enough. With
    /// --device the same on a card of yours.
    #[command(after_help = AFTER_HELP_RING)]
    Ring(RingSweep),
    /// A QUIC endpoint under a limit, beside plain quinn, fixed send buffers and BBR.
    ///
    /// Two network namespaces, with a router or a bridge between them if wanted, and a slow link. Bulk
    /// and a small request of high priority each 50 ms through one endpoint, on one connection and on
    /// two: what a request waits, and what passes. Needs a build with the feature `quic`.
    #[command(after_help = AFTER_HELP)]
    Quic(LabQuic),
}

const AFTER_HELP: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Needs root, or a kernel that lets users make user namespaces and open /dev/net/tun.
After Ctrl-C or SIGTERM the finished rows are shown; one half a second later ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here, 130 or 143 interrupted.";

const AFTER_HELP_LAB_FORWARD: &str = "\
Rates as tc reads them (1gbit); times need a unit (5s).
Needs root, or a kernel that lets users make user namespaces.
After Ctrl-C or SIGTERM the finished rows are shown; one half a second later ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here, 130 or 143 interrupted.";

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

const AFTER_HELP_RING: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Needs root; a card also a peer that does not mind: see docs/hardware/README.md.
After Ctrl-C or SIGTERM the finished rows are shown; one half a second later ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here, 130 or 143 interrupted.";
