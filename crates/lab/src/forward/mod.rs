//! `taut forward` compared with the kernel's bridge: the latency of a ping from a fast link to a
//! slow one, while bulk streams saturate the slow link.

mod case;
mod charts;
mod config;
mod results;
mod row;
mod world;

use std::process::ExitCode;

use taut_report::document::Document;
use taut_report::page::{Origin, Page};
use taut_report::{stdout, text};

use crate::experiment::{Experiment, Results, Rows, TextFile, check_files};
use crate::progress::Progress;
use case::ForwardCase;
pub use config::Forward;
use row::ForwardRun;

impl Forward {
    fn page<'d>(&self, document: &'d Document, ran: &[&ForwardRun]) -> Page<'d> {
        Page {
            document,
            origin: Origin::Live,
            about: results::ABOUT,
            charts: charts::charts(ran),
            remark: Some(charts::REMARK.to_owned()),
            command: self.command(),
        }
    }
}

impl Experiment for Forward {
    type Case = ForwardCase;
    type Ran = ForwardRun;

    /// The rows are grouped by rate.
    fn cases(&self) -> Result<Vec<ForwardCase>, String> {
        Ok(case::cases(self))
    }

    fn plan(&self, cases: &[ForwardCase]) -> String {
        let mut text = format!(
            "forward: {} bulk streams and a ping every 5 ms from {} into a slower link\n\
             would make 3 network namespaces with a veth from the first to the second and one from \
             there to the third, each with a TBF, until this process ends\n",
            self.streams, self.fast,
        );
        for case in cases {
            let row_s = (row::WARM_UP_NS + self.duration.0) / 1_000_000_000;
            text += &format!("would run {case}: {row_s} s\n");
        }
        text
    }

    fn check(&self) -> Result<(), ExitCode> {
        check_files([("report", &self.report)])
    }

    fn measure(
        &mut self,
        case: &ForwardCase,
        progress: &mut Progress,
    ) -> anyhow::Result<Option<ForwardRun>> {
        row::run(self, case, progress)
    }

    fn results(&self, rows: &Rows<Self>, interrupted: bool) -> Results {
        let ran: Vec<&ForwardRun> = rows.iter().flat_map(|row| &row.runs).collect();
        let document = results::document(self, &ran, interrupted);
        let report = self.report.as_ref();
        let report = report.map(|path| TextFile::report(path, &self.page(&document, &ran)));
        Results {
            json: serde_json::to_value(&document).unwrap_or_default(),
            table: text::text(&document, stdout::columns()),
            files: report.unwrap_or_default(),
        }
    }
}
