//! The command line, and the exit code.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use taut_linux::privilege;
use taut_path::units::{Rate, Time};

use crate::world::Topology;

const CANNOT_RUN_HERE: u8 = 77;

/// A QUIC stack under load, with and without a byte limit
///
/// Sends bulk data through a slow link in network namespaces of its own, and measures requests of
/// 100 bytes on the same connection.
#[derive(Debug, Parser)]
#[command(
    after_help = "Needs root. Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here."
)]
pub struct Options {
    /// Limit of the endpoint: none, Linux's rule without a cap, or the default of the adapter
    #[arg(long, value_enum, default_value_t = LimitName::Taut)]
    pub limit: LimitName,

    /// Rate of the slow link, in tc's syntax
    #[arg(long, value_name = "RATE", default_value = "20mbit")]
    pub rate: Rate,

    /// What is between the hosts, with the slow link behind it
    #[arg(long, value_enum, default_value_t = Topology::Bridged)]
    pub topology: Topology,

    /// Measurement time, after a warm-up of 2 s
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub duration: Time,

    /// Print one JSON object on one line
    #[arg(short, long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LimitName {
    Plain,
    Dql,
    Taut,
}

/// Runs the program `name`: prints the row that `measure` returns.
pub async fn run(
    name: &str,
    measure: impl AsyncFnOnce(&Options) -> anyhow::Result<serde_json::Value>,
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
