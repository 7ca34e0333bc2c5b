//! The experiment of a request/response under load, in virtual time.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, FromArgMatches};
use taut_sim::results::Document;
use taut_sim::scenario::registry::{DEFAULT_SEED, Scenario, ScenarioError};
use taut_sim::scenario::rr_under_load::{Ran, Settings};
use taut_sim::scenario::tracing::{TraceRowsError, check_rows, trace_rows};

use super::command;
use super::output::{Form, Output, Traceable};
use super::progress::Progress;
use super::rr_charts;
use crate::exit;
use crate::report::page::Page;
use crate::report::text::closing;
use crate::rr::experiment::Experiment;
use crate::rr::table::table;

/// What `taut sim rr-under-load` accepts: settings other than those of its file.
#[derive(Debug, Clone, Args)]
pub struct Options {
    #[command(flatten)]
    pub experiment: Experiment,
    #[command(flatten)]
    pub output: Output,
}

impl Options {
    /// The published experiment.
    fn published() -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new(Settings::NAME));
        Self::from_arg_matches(&command.try_get_matches_from([Settings::NAME])?)
    }
}

/// `taut` alone: the published experiment.
pub fn published() -> ExitCode {
    run_settings(
        &Settings::default(),
        DEFAULT_SEED,
        &Output::default(),
        Form::Table,
        "taut sim rr-under-load",
    )
}

/// `taut sim rr-under-load`.
pub fn run(options: &Options) -> ExitCode {
    let Options { experiment, output } = options;
    let command = match Options::published() {
        Ok(defaults) => command::rr_under_load(experiment, &defaults.experiment),
        Err(_) => "taut sim rr-under-load".to_owned(),
    };
    let form = output.form(experiment.json);
    run_settings(
        &experiment.settings(),
        experiment.seed,
        output,
        form,
        &command,
    )
}

/// Runs settings, wherever they came from; `command` gives the same again, but for the seed.
pub fn run_settings(
    settings: &Settings,
    seed: u64,
    output: &Output,
    form: Form,
    command: &str,
) -> ExitCode {
    let traced = Traced { settings, seed };
    if let Err(failed) = output.check(&traced) {
        return failed;
    }
    match ran(settings, seed) {
        Ok(ran) => {
            let document = settings.document(seed, settings.found(&ran));
            let command = format!("{command} --seed {seed}");
            output.emit(
                form,
                &document,
                &traced,
                || text(settings, &ran, &document),
                || html(settings, &ran, &document, &command),
            )
        }
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}

fn ran(settings: &Settings, seed: u64) -> Result<Vec<Ran>, ScenarioError> {
    settings.validate().map_err(ScenarioError::Setting)?;
    let mut progress = Progress::new();
    settings.ran(seed, &mut |what, done, all| progress.show(what, done, all))
}

/// Settings whose rows can be traced.
pub struct Traced<'a, S> {
    pub settings: &'a S,
    pub seed: u64,
}

impl<S: Scenario> Traceable for Traced<'_, S> {
    fn check(&self, part: &str) -> Result<(), TraceRowsError> {
        check_rows(self.settings, part)
    }

    fn write(&self, part: &str, out: &mut dyn Write) -> Result<u64, TraceRowsError> {
        let mut progress = Progress::new();
        let mut show = |what: &str, done, all| progress.show(what, done, all);
        trace_rows(self.settings, self.seed, part, out, &mut show)
    }
}

fn text(settings: &Settings, ran: &[Ran], document: &Document) -> String {
    let table = table(&settings.rows_of(ran), settings.is_published());
    let closing = closing(&document.figures, document.seed, document.taut_version);
    format!("{table}\n{closing}")
}

fn html(settings: &Settings, ran: &[Ran], document: &Document, command: &str) -> String {
    let page = Page {
        document,
        about: Settings::ABOUT,
        charts: &rr_charts::charts(ran, settings.end_ns()),
        remark: Some(rr_charts::REMARK.to_owned()),
        command,
    };
    page.html()
}
