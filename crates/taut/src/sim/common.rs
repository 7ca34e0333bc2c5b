//! Options of all scenarios.

use clap::Args;

use super::output::Output;

/// Options of all scenarios.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Seed of all random numbers [default: 1]
    ///
    /// Scenarios without random input (jitter, loss, random traces) give the same results for every
    /// seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    #[command(flatten)]
    pub output: Output,
}
