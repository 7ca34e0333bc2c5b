//! The effect of pauses on limit rules.

use std::process::ExitCode;

use clap::Args;
use taut_scenarios::pauses::{PausesSettings, Rule};
use taut_scenarios::registry::file;
use taut_scenarios::schema::Schema;

use super::output::Common;
use super::scenario;

/// Options of `taut sim pauses`.
#[derive(Debug, Clone, Args)]
pub struct PausesOptions {
    /// Limit (repeatable; taut help limits) [default: dql, taut]
    ///
    /// Also such as "dql every 1ms": completions are coalesced to this interval.
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true)]
    pub limits: Vec<Rule>,

    #[command(flatten)]
    pub common: Common,
}

/// `taut sim pauses`.
pub fn run(options: &PausesOptions) -> Result<ExitCode, ExitCode> {
    let mut settings = PausesSettings::defaults();
    if !options.limits.is_empty() {
        settings.rules.clone_from(&options.limits);
    }
    scenario::run(&file(&settings), &options.common)
}
