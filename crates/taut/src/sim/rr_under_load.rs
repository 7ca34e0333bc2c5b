//! The request/response experiment, in virtual time.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use taut_scenarios::registry::{DEFAULT_SEED, file};
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::run::Run;
use taut_scenarios::schema::Schema;

use super::cases::{show, usage};
use super::output::Output;
use super::sweep;
use crate::rr::Experiment;
use taut_report::page::{Origin, command_line};
use taut_report::stdout;
use taut_scenarios::rr_under_load::show::{page, text};

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

/// Runs settings.
pub fn run_settings(settings: Settings, seed: u64, output: &Output) -> Result<ExitCode, ExitCode> {
    if output.is_sweep() {
        return sweep::run(&file(&settings), seed, output);
    }
    let run = Arc::new(Run::new(settings, seed).map_err(usage)?);
    let rows = || run.settings().rows_of(&run.ran());
    show(
        run.clone(),
        output,
        |document| {
            let is_published = run.settings().is_published();
            text(document, &rows(), is_published, stdout::columns())
        },
        |document| {
            let (end_ns, command) = (run.settings().end_ns(), command_line(Some(seed)));
            page(document, Origin::Simulated, &rows(), end_ns, command)
        },
    )
}
