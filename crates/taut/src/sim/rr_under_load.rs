//! The experiment of a request/response under load, in virtual time.

use std::process::ExitCode;

use clap::{Args, FromArgMatches};
use taut_sim::results::{DOCUMENT_VERSION, Document};
use taut_sim::scenario::rr_under_load::{Outcome, RrUnderLoad, RunError};

use super::command;
use super::output::Output;
use super::progress::Progress;
use super::rr_charts::{self, Ran};
use crate::exit;
use crate::report::csv::csv;
use crate::report::page::Page;
use crate::report::text::closing;
use crate::rr;
use crate::rr::experiment::{Case, Experiment};
use crate::rr::results::{Carrier, Latency, Results, Row, one_decimal, per_second};

/// The link of the published experiment, in bit/s.
const DEFAULT_RATE_BITS_PER_S: u64 = 1_000_000_000;

/// What it shows, in one line.
pub const ABOUT: &str =
    "bulk TCP streams saturate a link while one request/response runs at high priority (E1)";

/// What `taut sim rr-under-load` accepts.
#[derive(Debug, Clone, Args)]
pub struct Options {
    #[command(flatten)]
    pub experiment: Experiment,
    #[command(flatten)]
    pub output: Output,
}

impl Options {
    /// The published experiment.
    pub fn published() -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new("rr-under-load"));
        Self::from_arg_matches(&command.try_get_matches_from(["rr-under-load"])?)
    }
}

/// `taut sim rr-under-load`.
pub fn run(options: &Options) -> ExitCode {
    if let Err(failed) = options.output.check() {
        return failed;
    }
    match ran(&options.experiment) {
        Ok(ran) => show(options, &ran),
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}

/// The published experiment, as a document.
pub fn published_document() -> anyhow::Result<Document> {
    let experiment = Options::published()?.experiment;
    Ok(to_document(&results(&experiment, &ran(&experiment)?))?)
}

fn results(experiment: &Experiment, ran: &[Ran]) -> Results {
    let carrier = Carrier {
        driver: "simulated",
        rate_bits_per_s: rate_bits_per_s(experiment),
    };
    let rows = ran.iter().map(|it| to_row(experiment, it)).collect();
    Results::new(experiment, carrier, rows)
}

fn show(Options { experiment, output }: &Options, ran: &[Ran]) -> ExitCode {
    let results = results(experiment, ran);
    let shown = to_document(&results).and_then(|document| {
        let data = if experiment.json {
            rr::json(&results)?
        } else if output.csv {
            csv(&document.rows)
        } else {
            let closing = closing(&document.figures, document.seed, document.taut_version);
            format!("{}\n{closing}", rr::table::table(&results))
        };
        Ok((document, data))
    });
    match shown {
        Ok((document, data)) => output.emit(&data, || html(experiment, &document, ran)),
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}

fn html(experiment: &Experiment, document: &Document, ran: &[Ran]) -> String {
    let command = match Options::published() {
        Ok(defaults) => command::rr_under_load(experiment, &defaults.experiment),
        Err(_) => "taut sim rr-under-load".to_owned(),
    };
    let page = Page {
        document,
        about: ABOUT,
        charts: &rr_charts::charts(ran, scenario(experiment, Case::default()).end_ns()),
        remark: Some(rr_charts::REMARK.to_owned()),
        command: &command,
    };
    page.html()
}

fn rate_bits_per_s(experiment: &Experiment) -> u64 {
    experiment.rate.unwrap_or(DEFAULT_RATE_BITS_PER_S)
}

fn ran(experiment: &Experiment) -> Result<Vec<Ran>, RunError> {
    let cases = experiment.cases();
    let (mut progress, all) = (Progress::new(), cases.len() as u64);
    let run = |(done, case): (usize, Case)| {
        progress.show(&case.to_string(), done as u64, all);
        Ok(Ran {
            case,
            outcome: scenario(experiment, case).run()?,
            limits_bytes: experiment.limits_bytes(case),
        })
    };
    cases.into_iter().enumerate().map(run).collect()
}

fn scenario(experiment: &Experiment, case: Case) -> RrUnderLoad<'_> {
    RrUnderLoad {
        streams: experiment.streams,
        rate_bits_per_s: rate_bits_per_s(experiment),
        slots: experiment.ring,
        cadence_ns: experiment.cadence,
        qdisc: &experiment.qdisc,
        limit: experiment.limit_of(case),
        tso: case.tso,
        duration_ns: experiment.duration,
        seed: experiment.seed,
    }
}

fn to_row(experiment: &Experiment, Ran { case, outcome, .. }: &Ran) -> Row {
    let Outcome { latency_ns, .. } = outcome;
    let us = |quantile| latency_ns.value_at_quantile(quantile) / 1000;
    Row {
        bql: case.bql,
        tso: case.tso,
        inflight_bytes: outcome.in_flight_bytes,
        limit_bytes_p50: experiment.limits_bytes(*case).then_some(outcome.limit_p50),
        rr_tps: one_decimal(per_second(latency_ns.len(), experiment.duration)),
        rr_latency_us: Latency {
            p50: us(0.5),
            p99: us(0.99),
        },
        goodput_bps: per_second(outcome.delivered_bytes * 8, experiment.duration) as u64,
        cpu_percent: None,
        drops: outcome.drops,
        curve: outcome.curve.clone(),
    }
}

/// The results in the form that all scenarios share.
fn to_document(results: &Results) -> Result<Document, serde_json::Error> {
    let rows = results.rows.iter().map(serde_json::to_value);
    Ok(Document {
        version: DOCUMENT_VERSION,
        scenario: results.scenario,
        taut_version: results.taut_version,
        seed: results.seed,
        parameters: serde_json::to_value(&results.parameters)?,
        rows: rows.collect::<Result<_, _>>()?,
        figures: results.figures.clone(),
        // Drawn from the outcomes.
        series: Vec::new(),
    })
}
