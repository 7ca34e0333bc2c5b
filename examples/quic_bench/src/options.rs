//! The command line, and the exit code.

use std::process::ExitCode;

use anyhow::ensure;
use clap::{Parser, ValueEnum};
use serde_json::Value;
use taut_linux::privilege;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Size, Time};
use taut_udp::quic::SocketLimiter;

const CANNOT_RUN_HERE: u8 = 77;

/// A QUIC stack under load, with and without a byte limit
///
/// Sends bulk data through a slow link in network namespaces of its own, and measures requests of
/// 100 bytes on the same endpoint.
#[derive(Debug, Parser)]
#[command(
    after_help = "Needs root. Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here."
)]
pub struct Options {
    /// What limits the endpoint
    #[arg(long, value_enum, default_value_t = LimitName::Taut)]
    pub limit: LimitName,

    /// Send buffer of the client's socket, such as 32k [default: that of the kernel]
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<Size>,

    /// Rate of the slow link, in tc's syntax
    #[arg(long, value_name = "RATE", default_value = "20mbit")]
    pub rate: Rate,

    /// Reduce the rate to a fifth in the middle third of the measurement
    #[arg(long)]
    pub falls: bool,

    /// Inject a fault after a third of the measurement
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,

    /// Position of the slow link
    #[arg(long, value_enum, default_value_t = Topology::Bridged)]
    pub topology: Topology,

    /// Delay added to a round trip, by threads beyond the slow link
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    pub distance: Time,

    /// Send the requests on a second connection (quinn and noq)
    #[arg(long)]
    pub two_connections: bool,

    /// Measurement time, after a warm-up of 2 s
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub duration: Time,

    /// Print one JSON object on one line
    #[arg(short, long)]
    pub json: bool,
}

/// What limits an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LimitName {
    /// Nothing
    Plain,
    /// Nothing, with BBR as congestion control (quinn and noq)
    Bbr,
    /// Linux's rule without a cap
    Dql,
    /// The default of the adapter
    Taut,
}

/// A fault that lasts for a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// The client's interface is down: its sends fail
    LinkDown,
    /// The server's interface is down
    PeerDown,
    /// SIGSTOP, for both ends
    Stopped,
    /// The endpoint changes to another socket (quinn and noq)
    Rebound,
}

/// The position of the slow link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// The client's own interface
    Direct,
    /// Behind a bridge
    Bridged,
    /// Behind a router
    Routed,
}

impl LimitName {
    /// Returns the settings of the limited sockets, or `None` without a limit.
    pub fn sockets(self) -> Option<SocketLimiter> {
        match self {
            Self::Plain | Self::Bbr => None,
            Self::Dql => Some(SocketLimiter::new().limit(AnyLimit::dql()).cap_ns(0)),
            Self::Taut => Some(SocketLimiter::new()),
        }
    }
}

impl Options {
    /// Rejects options for one kind of stack only.
    ///
    /// # Errors
    /// If one of them is used.
    pub fn require_common(&self) -> anyhow::Result<()> {
        ensure!(
            self.limit != LimitName::Bbr
                && !self.two_connections
                && self.fault != Some(Fault::Rebound),
            "--limit bbr, --two-connections, --fault rebound: allowed with quinn and noq"
        );
        Ok(())
    }
}

/// Runs the program `name`: prints the row that `measure` returns.
pub async fn run(
    name: &str,
    measure: impl AsyncFnOnce(&Options) -> anyhow::Result<Value>,
) -> ExitCode {
    let options = Options::parse();
    if let Err(missing) = privilege() {
        eprintln!("{name}: {missing}");
        return CANNOT_RUN_HERE.into();
    }
    match measure(&options).await {
        Ok(row) if options.json => println!("{row}"),
        Ok(row) => println!("{row:#}"),
        Err(error) => {
            eprintln!("{name}: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
