//! Experiments with real traffic: the options of each.

mod forward;
mod ring;
mod rr_under_load;

use std::process::ExitCode;

use clap::Subcommand;

use forward::LabForward;
use ring::RingSweep;
use rr_under_load::RrUnderLoad;

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
    /// Three network namespaces: bulk TCP streams go from a fast link into a slow one, through the
    /// kernel's bridge or through ours, without a limit, with one queue, and with fq_codel under a
    /// limit, so that one sees what comes from which.
    #[command(after_help = AFTER_HELP_LAB_FORWARD)]
    Forward(LabForward),
    /// Fixed depths of a ring against the limits, over AF_PACKET and AF_XDP.
    ///
    /// Two network namespaces with a veth between for each row: shaped (for AF_XDP below a
    /// macvlan), with a peer that polls, and plain. Packets a second, bytes in flight and the time
    /// to completion of every depth and limit; and what each limit gives beside the least depth
    /// that is enough. With
    /// --device the same on a card of yours.
    #[command(after_help = AFTER_HELP_RING)]
    Ring(RingSweep),
}

impl LabScenario {
    /// `taut lab`.
    pub fn run(&self) -> ExitCode {
        match self {
            Self::RrUnderLoad(options) => options.run(),
            Self::Forward(options) => options.run(),
            Self::Ring(options) => options.run(),
        }
    }
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

const AFTER_HELP_RING: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Needs root; a card also a peer that does not mind: see docs/hardware/README.md.
After Ctrl-C or SIGTERM the finished rows are shown; one half a second later ends at once.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here, 130 or 143 interrupted.";
