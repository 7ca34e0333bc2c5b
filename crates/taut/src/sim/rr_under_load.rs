//! The experiment of a request/response under load, in virtual time.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, FromArgMatches};
use taut_scenarios::registry::{DEFAULT_SEED, file};
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::run::{AnyRun, Run};
use taut_scenarios::scenario::Scenario;
use taut_scenarios::stated::Stated;
use taut_scenarios::tracing::{self, Tap, TraceRowsError};

use super::output::{Output, Traceable};
use super::progress::ProgressLine;
use super::sweep;
use crate::rr::command;
use crate::rr::experiment::Experiment;
use taut_report::emit::Form;
use taut_report::page::Origin;
use taut_report::{exit, say, stdout};
use taut_scenarios::rr_under_load::show::{Drawn, page, table};

/// What `taut sim rr-under-load` accepts: settings other than those of its file.
#[derive(Debug, Clone, Args)]
pub struct RrUnderLoadOptions {
    #[command(flatten)]
    pub experiment: Experiment,
    #[command(flatten)]
    pub output: Output,
}

impl RrUnderLoadOptions {
    /// The published experiment.
    fn published() -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new(Settings::NAME));
        Self::from_arg_matches(&command.try_get_matches_from([Settings::NAME])?)
    }
}

/// `taut` alone: the published experiment.
pub fn published() -> ExitCode {
    run_settings(
        Settings::defaults(),
        DEFAULT_SEED,
        &Output::default(),
        Form::Table,
        "taut sim rr-under-load",
    )
}

/// `taut sim rr-under-load`.
pub fn run(options: &RrUnderLoadOptions) -> ExitCode {
    let RrUnderLoadOptions { experiment, output } = options;
    let command = match RrUnderLoadOptions::published() {
        Ok(defaults) => command::line("taut sim rr-under-load", experiment, &defaults.experiment),
        Err(_) => "taut sim rr-under-load".to_owned(),
    };
    let form = output.form(experiment.json);
    run_settings(
        experiment.settings(),
        experiment.seed,
        output,
        form,
        &command,
    )
}

/// Runs settings, wherever they came from; `command` gives the same again, but for the seed.
pub fn run_settings(
    settings: Settings,
    seed: u64,
    output: &Output,
    form: Form,
    command: &str,
) -> ExitCode {
    let traced = Traced {
        settings: &settings,
        seed,
    };
    if let Err(failed) = output.check(&traced) {
        return failed;
    }
    if output.many.is_wanted() {
        return sweep::run(&file(&settings), seed, output, form);
    }
    let run = match Run::new(settings.clone(), seed) {
        Ok(run) => Arc::new(run),
        Err(error) => {
            say!("taut: {error}");
            return ExitCode::from(exit::USAGE);
        }
    };
    let interrupt = match super::cases::run_cases(vec![run.clone()], output.many.jobs(), |_| {}) {
        Ok(interrupt) => interrupt,
        Err(failed) => return failed,
    };
    let mut document = run.document();
    document.interrupted = interrupt.is_some();
    let ran = run.ran();
    let command = format!("{command} --seed {seed}");
    let rows = settings.rows_of(&ran);
    output.emit(
        form,
        (&document, interrupt),
        &traced,
        || table::text(&document, &rows, settings.is_published(), stdout::columns()),
        || {
            let drawn = ran.iter().map(|&(case, outcome)| Drawn::of(case, outcome));
            let drawn: Vec<Drawn> = drawn.collect();
            let end_ns = settings.end_ns();
            page::page(&document, Origin::Simulated, &drawn, end_ns, command)
        },
    )
}

/// Settings whose rows can be traced.
pub struct Traced<'a, S> {
    pub settings: &'a S,
    pub seed: u64,
}

impl<S: Scenario> Traceable for Traced<'_, S> {
    fn check(&self, tap: Tap, part: &str) -> Result<(), TraceRowsError> {
        tracing::check(self.settings, tap, part)
    }

    fn write(&self, wanted: (Tap, &str), out: &mut dyn Write) -> Result<u64, TraceRowsError> {
        let mut progress = ProgressLine::new();
        let mut show = |what: &str, done, all| progress.show(what, done, all);
        let head = (S::NAME, self.seed);
        tracing::write(self.settings, head, wanted, out, &mut show)
    }
}
