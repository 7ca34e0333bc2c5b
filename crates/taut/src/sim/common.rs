//! Options of every scenario.

use clap::Args;

use super::output::Output;

/// What every scenario accepts.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Seed of everything drawn at random [default: 1]
    ///
    /// Scenarios that draw nothing (no jitter, no loss, no pattern of chance) give the same for every seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub output: Output,
}
