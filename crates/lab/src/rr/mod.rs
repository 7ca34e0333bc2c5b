//! Request/response latency at high priority while bulk TCP streams saturate the link, with the TCP
//! of two network namespaces.

mod config;
mod emulated;
mod packet_ring;
mod results;
mod router;
mod row;
mod tap;
mod world;

use std::process::ExitCode;

use taut_measure::trace::{Head, Recorder, Recording};
use taut_report::emit::{self, Form};
use taut_report::page::{Origin, command_line};
use taut_report::stdout;
use taut_scenarios::rr_under_load::{Case, Row};
use taut_scenarios::{show, validation};

use crate::experiment::{Experiment, Rows};
use crate::progress::Progress;
pub use config::{Config, DriverKind, Options, limits};

/// The experiment.
pub struct RrUnderLoad {
    config: Config,
    /// The recordings of the rows, with their names and limits.
    recordings: Vec<(String, String, Recording)>,
}

impl RrUnderLoad {
    /// Creates the experiment.
    pub fn new(config: Config) -> Self {
        Self {
            recordings: Vec::new(),
            config,
        }
    }
}

impl Experiment for RrUnderLoad {
    type Case = Case;
    type Measurement = Row;

    /// The slots of an AF_PACKET ring hold one frame each, so it has no rows with GSO packets.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let (settings, driver) = (&self.config.settings, self.config.options.driver);
        validation::limits(0)("--limit", &settings.limits)?;
        validation::late_segmentation("--late-segmentation", &settings.late_segmentation)?;
        let mut cases = settings.selected();
        let allowed = if cases.is_empty() {
            "limit=off"
        } else {
            "tso=off"
        };
        cases.retain(|case| driver == DriverKind::Emulated || !case.tso);
        if cases.is_empty() {
            return Err(format!(
                "--only is {}, which selects no row; allowed with this limit and driver: \
                 {allowed}",
                settings.rows
            ));
        }
        Ok(cases)
    }

    fn plan(&self, cases: &[Case]) -> String {
        let (settings, driver) = (&self.config.settings, self.config.options.driver);
        let mut text = format!(
            "rr-under-load: {} bulk streams and one request/response, {} of {} bit/s, ring of {} \
             descriptors, completions every {} us, {}\n\
             would create {}, until this process ends\n",
            settings.streams,
            driver.name(),
            settings.rate.0,
            settings.ring,
            settings.coalesce.0 / 1000,
            settings.qdisc,
            world::devices(driver),
        );
        for case in cases {
            let row_s = settings.end_ns() / 1_000_000_000;
            text += &format!("would run {case}: {row_s} s\n");
        }
        text
    }

    fn check(&self) -> Result<(), ExitCode> {
        let Options { report, trace, .. } = &self.config.options;
        emit::check("report", report.path.as_deref())?;
        emit::check("trace", trace.path.as_deref())
    }

    fn measure(&mut self, case: &Case, progress: &mut Progress) -> anyhow::Result<Option<Row>> {
        let recorded: usize = self.recordings.iter().map(|(.., it)| it.events()).sum();
        let max_bytes = self.config.options.trace.max_bytes();
        let left_events = max_bytes.map(|it| Recording::events_in(it).saturating_sub(recorded));
        let ran = row::run(&self.config, case, left_events, progress)?;
        Ok(ran.map(|(ran, recording)| {
            let named = |it| (case.to_string(), case.limit.to_string(), it);
            self.recordings.extend(recording.map(named));
            ran
        }))
    }

    fn show(&self, rows: &Rows<Self>, json: bool, interrupted: bool) -> ExitCode {
        let rows: Vec<Row> = rows.iter().flat_map(|row| &row.runs).cloned().collect();
        let report = self.config.options.report.path.as_deref();
        let document = results::document(&self.config, &rows, interrupted);
        let table = || show::text(&document, stdout::columns());
        let page = || show::page(&document, Origin::Live, command_line(None));
        let shown = emit::emit(&document, Form::json_or_table(json), report, table, page);
        self.write_trace().err().unwrap_or(shown)
    }
}

impl RrUnderLoad {
    /// Writes the events of all rows, if they are requested.
    fn write_trace(&self) -> Result<(), ExitCode> {
        let (trace, seed) = (&self.config.options.trace, self.config.seed);
        if self.recordings.is_empty() {
            return Ok(());
        }
        trace.write(|out| {
            if self.recordings.iter().any(|(.., it)| it.lost_events() > 0) {
                return Err(trace.too_long());
            }
            let head = Head {
                scenario: "lab rr-under-load".to_owned(),
                seed,
                taut_version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            let mut recorder = Recorder::new(out, &head);
            for (name, limit, recording) in &self.recordings {
                recording.write(name, limit, &mut recorder);
            }
            recorder.finish()
        })
    }
}
