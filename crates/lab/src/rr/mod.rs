//! Request/response latency at high priority while bulk TCP streams saturate the link, with the TCP
//! of two network namespaces.

mod config;
mod driver;
mod emulated;
mod frames;
mod late;
mod packet_ring;
mod results;
mod router;
mod row;
mod tap_source;
mod wiring;
mod world;

use std::process::ExitCode;

use taut_measure::trace::{Head, Recordings};
use taut_report::document::Document;
use taut_report::page::{Origin, Page};
use taut_report::stdout;
use taut_scenarios::rr_under_load::show::{Drawn, page, table};
use taut_scenarios::rr_under_load::{self as simulated, Case};
use taut_scenarios::validation;

use crate::experiment::{Experiment, Results, Rows, TextFile, check_files};
use crate::progress::Progress;
pub use config::{Config, limits};
pub use driver::DriverKind;
use row::RrRun;

/// The experiment.
pub struct RrUnderLoad {
    config: Config,
    recordings: Recordings,
}

impl RrUnderLoad {
    /// Creates the experiment.
    pub fn new(config: Config) -> Self {
        Self {
            recordings: Recordings::new(config.trace.max_bytes()),
            config,
        }
    }

    fn page<'d>(&self, document: &'d Document, ran: &[&RrRun]) -> Page<'d> {
        let drawn: Vec<Drawn> = ran.iter().map(|ran| ran.drawn()).collect();
        let (row_ns, command) = (self.config.row_ns(), self.config.command.clone());
        page::page(document, Origin::Live, &drawn, row_ns, command)
    }
}

impl Experiment for RrUnderLoad {
    type Case = Case;
    type Ran = RrRun;

    /// The slots of an AF_PACKET ring hold one frame each, so it has no rows with GSO packets.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let Config {
            settings, driver, ..
        } = &self.config;
        validation::limits(0)("--limit", &settings.limits)?;
        validation::late_segmentation("--late-segmentation", &settings.late_segmentation)?;
        let mut cases = settings
            .rows
            .cases(&settings.limits, &settings.late_segmentation);
        cases.retain(|case| *driver == DriverKind::Emulated || !case.tso);
        if cases.is_empty() {
            return Err(format!(
                "--only {} leaves no row with this limit and driver: off is not a limit, and the \
                 af_packet driver has no GSO packets; allowed: bql=on with a limit, \
                 bql=off, tso=off",
                settings.rows
            ));
        }
        Ok(cases)
    }

    fn plan(&self, cases: &[Case]) -> String {
        let Config {
            settings, driver, ..
        } = &self.config;
        let mut text = format!(
            "rr-under-load: {} bulk streams and one request/response, {} of {} bit/s, ring {}, \
             completions every {} us, {}\n\
             would create {}, until this process ends\n",
            settings.streams,
            driver.name(),
            settings.rate.0,
            settings.ring,
            settings.coalesce.0 / 1000,
            settings.qdisc,
            world::devices(*driver),
        );
        for case in cases {
            let row_s = self.config.row_ns() / 1_000_000_000;
            text += &format!("would run {case}: {row_s} s\n");
        }
        text
    }

    fn check(&self) -> Result<(), ExitCode> {
        check_files([("report", &self.config.report)])?;
        self.config.trace.check()
    }

    fn measure(&mut self, case: &Case, progress: &mut Progress) -> anyhow::Result<Option<RrRun>> {
        let ran = row::run(&self.config, case, self.recordings.left_events(), progress)?;
        Ok(ran.map(|(ran, recording)| {
            self.recordings
                .push(&case.to_string(), &case.limit.to_string(), recording);
            ran
        }))
    }

    fn results(&self, rows: &Rows<Self>, interrupted: bool) -> Results {
        let ran: Vec<&RrRun> = rows.iter().flat_map(|row| &row.runs).collect();
        let rows: Vec<simulated::Row> = ran.iter().map(|ran| ran.row.clone()).collect();
        let document = results::document(&self.config, &rows, interrupted);
        let report = self.config.report.as_ref();
        let report = report.map(|path| TextFile::report(path, &self.page(&document, &ran)));
        let is_published = self.config.is_published();
        Results {
            json: serde_json::to_value(&document).unwrap_or_default(),
            table: table::text(&document, &rows, is_published, stdout::columns()),
            files: report.unwrap_or_default(),
        }
    }

    fn write_large_files(&self) -> Result<(), ExitCode> {
        let Config { trace, seed, .. } = &self.config;
        if self.recordings.is_empty() {
            return Ok(());
        }
        trace.write(|out| {
            if !self.recordings.is_whole() {
                return Err(trace.too_long());
            }
            let head = Head {
                scenario: "lab rr-under-load".to_owned(),
                seed: *seed,
                taut_version: env!("CARGO_PKG_VERSION").to_owned(),
                sampled_hz: None,
            };
            self.recordings.write(&head, out)
        })
    }
}
