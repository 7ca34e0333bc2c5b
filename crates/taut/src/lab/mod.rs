//! Options of the experiments with real traffic.

mod rr_under_load;

use std::process::ExitCode;

use clap::Subcommand;
use taut_lab::experiment;
use taut_lab::forward::Forward;
use taut_lab::ring::RingSweep;

use rr_under_load::RrUnderLoad;

#[derive(Debug, Subcommand)]
pub enum LabScenario {
    /// Measure request/response latency while bulk TCP streams saturate the link
    ///
    /// Two network namespaces with kernel TCP, connected by taut's transmit path and an emulated
    /// NIC (or an AF_PACKET ring). Rows: no limit and each --limit, each with TSO on and off. With
    /// TSO and a limit, there is a row for each --late-segmentation. af_packet has no rows with
    /// TSO. Each row has bytes in the ring, transactions and their latency, and goodput, compared
    /// with the published results.
    #[command(after_long_help = AFTER_HELP)]
    RrUnderLoad(RrUnderLoad),
    /// Compare `taut forward` with the kernel's bridge: ping under load, goodput
    ///
    /// Three network namespaces: bulk TCP streams pass from a fast link to a slow one, through the
    /// kernel's bridge or through `taut forward`. Rows without a limit, with one queue, and with
    /// fq_codel under a limit show the effect of each.
    #[command(after_long_help = AFTER_HELP_LAB_FORWARD)]
    Forward(Forward),
    /// Compare limits with fixed ring depths, over AF_PACKET and AF_XDP
    ///
    /// Each row uses two network namespaces and a veth pair. There are three kinds: shaped by a TBF
    /// (AF_XDP sends on a macvlan above it), with a program that polls the peer, and plain (the
    /// peer delivers to the network stack). Measures packets per second, bytes in flight and
    /// completion latency of every depth and limit. Compares each limit with the smallest depth
    /// that reaches 99 % of the packets per second of the best depth. With --device, it measures a
    /// real card.
    #[command(after_long_help = AFTER_HELP_RING)]
    Ring(RingSweep),
}

impl LabScenario {
    /// `taut lab`.
    pub fn run(&self) -> ExitCode {
        match self {
            Self::RrUnderLoad(options) => {
                experiment::run(options.experiment(), options.options.output)
            }
            Self::Forward(options) => experiment::run(options.clone(), options.output),
            Self::Ring(options) => experiment::run(options.clone(), options.output),
        }
    }
}

const AFTER_HELP: &str = "\
Rates and sizes are as in tc (1gbit, 40k); times need a unit (250us).
Needs root, or a kernel that lets users create user namespaces and open /dev/net/tun.
After Ctrl-C or SIGTERM, the finished rows are printed. A second signal, at least half a second
later, ends the command immediately.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 a privilege or kernel feature is missing, 130 or 143
interrupted.
Examples:
  taut lab rr-under-load --only limit=on
  taut lab rr-under-load --limit dql --limit taut --report lab.html";

const AFTER_HELP_LAB_FORWARD: &str = "\
Rates are as in tc (1gbit); times need a unit (5s).
Needs root, or a kernel that lets users create user namespaces.
After Ctrl-C or SIGTERM, the finished rows are printed. A second signal, at least half a second
later, ends the command immediately.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 a privilege or kernel feature is missing, 130 or 143
interrupted.
Examples:
  taut lab forward --rate 20mbit
  taut lab forward --duration 10s --report forward.html";

const AFTER_HELP_RING: &str = "\
Rates and sizes are as in tc (1gbit, 40k); times need a unit (250us).
Needs root. A card also needs a peer that tolerates the load: see docs/hardware/README.md.
After Ctrl-C or SIGTERM, the finished rows are printed. A second signal, at least half a second
later, ends the command immediately.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 a privilege or kernel feature is missing, 130 or 143
interrupted.
Examples:
  taut lab ring --driver af_packet --rate 100mbit
  taut lab ring --depth 1 --depth 64 --limit taut --json";
