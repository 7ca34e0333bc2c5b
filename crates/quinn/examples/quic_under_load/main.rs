//! QUIC under load: bulk, and a small request of high priority each 50 ms through the same
//! endpoint.
//!
//! `cargo run --release -p taut-quinn --example quic_under_load -- --help` lists the options. It
//! needs root, or a kernel that lets users make user namespaces.

mod case;
mod charts;
mod delay;
mod options;
mod peers;
mod results;
mod row;
mod summary;
mod world;

use std::process::ExitCode;

use clap::Parser;
use taut_lab::experiment::{self, Experiment, Rows};
use taut_lab::progress::Progress;
use taut_report::emit::{self, Form};
use taut_report::page::{Origin, Page};
use taut_report::{stdout, text};

use case::Case;
use options::Options;
use row::RunResult;

fn main() -> ExitCode {
    let options = Options::parse();
    let output = options.output;
    experiment::run(QuicUnderLoad(options), output)
}

/// The experiment.
struct QuicUnderLoad(Options);

impl Experiment for QuicUnderLoad {
    type Case = Case;
    type Measurement = RunResult;

    fn cases(&self) -> Result<Vec<Case>, String> {
        let cases = case::cases(&self.0.only);
        if cases.is_empty() {
            return Err(format!("--only {:?}: no such variant", self.0.only));
        }
        Ok(cases)
    }

    fn plan(&self, cases: &[Case]) -> String {
        let options = &self.0;
        let falls = if options.falls {
            ", a fifth of it in the middle third"
        } else {
            ""
        };
        let mut text = format!(
            "quic: bulk and a request of 100 bytes each 50 ms over {}{falls}, {}, {} away\n\
             would make network namespaces with veths and a TBF for each row, held by this process \
             alone\n",
            options.rate,
            options.topology.name(),
            options.distance,
        );
        let times = if options.repeat == 1 { "" } else { "s" };
        for case in cases {
            text += &format!(
                "would run {case}: {} time{times} {} ms and a warm-up\n",
                options.repeat,
                options.duration.0 / 1_000_000
            );
        }
        text
    }

    fn check(&self) -> Result<(), ExitCode> {
        emit::check("report", self.0.report.as_deref())
    }

    fn repetitions(&self) -> u32 {
        self.0.repeat
    }

    fn measure(&mut self, case: &Case, _: &mut Progress) -> anyhow::Result<Option<RunResult>> {
        row::run(&self.0, case)
    }

    fn show(&self, rows: &Rows<Self>, json: bool, interrupted: bool) -> ExitCode {
        let document = results::document(&self.0, rows, interrupted);
        let page = || Page {
            document: &document,
            origin: Origin::Live,
            about: results::ABOUT,
            charts: charts::charts(rows),
            remark: Some(charts::REMARK.to_owned()),
            command: self.0.command(),
        };
        let table = || text::text(&document, stdout::columns());
        emit::emit(
            &document,
            Form::json_or_table(json),
            self.0.report.as_deref(),
            table,
            page,
        )
    }
}
