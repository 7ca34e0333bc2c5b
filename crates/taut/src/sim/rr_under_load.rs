//! The request/response experiment, in virtual time.

use std::process::ExitCode;

use clap::Args;
use taut_scenarios::registry::DEFAULT_SEED;
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::schema::Schema;

use super::output::Output;
use super::scenario::run_settings;
use crate::rr::Experiment;

/// Options of `taut sim rr-under-load`.
#[derive(Debug, Clone, Args)]
pub struct RrUnderLoadOptions {
    #[command(flatten)]
    pub experiment: Experiment,
    #[command(flatten)]
    pub output: Output,
}

/// `taut` alone: runs the published experiment.
pub fn published() -> Result<ExitCode, ExitCode> {
    run_settings(Settings::defaults(), DEFAULT_SEED, &Output::default())
}

/// `taut sim rr-under-load`.
pub fn run(options: &RrUnderLoadOptions) -> Result<ExitCode, ExitCode> {
    let RrUnderLoadOptions { experiment, output } = options;
    run_settings(experiment.settings(), experiment.seed, output)
}
