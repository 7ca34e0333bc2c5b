//! `taut forward` compared with the kernel's bridge: the latency of a ping from a fast link to a
//! slow one, while bulk streams saturate the slow link.

mod config;
mod results;
mod row;

use std::process::ExitCode;

use taut_report::emit;
use taut_report::page::{Origin, Page, command_line};

use crate::experiment::{Experiment, Rows, print_page};
use crate::progress::Progress;
use config::ForwardCase;

pub use config::Forward;
use row::ForwardRun;

impl Experiment for Forward {
    type Case = ForwardCase;
    type Measurement = ForwardRun;

    /// The rows are grouped by rate.
    fn cases(&self) -> Result<Vec<ForwardCase>, String> {
        Ok(config::cases(self))
    }

    fn plan(&self, cases: &[ForwardCase]) -> String {
        let mut text = format!(
            "forward: {} bulk streams and a ping every 5 ms from {} into a slower link\n\
             would create, until this process ends:\n\
             3 network namespaces; the first and the third have a veth to the second\n\
             a TBF on each veth\n",
            self.streams, self.fast_rate,
        );
        for case in cases {
            let row_s = (row::WARM_UP_NS + self.duration.0) / 1_000_000_000;
            text += &format!("would run {case}: {row_s} s\n");
        }
        text
    }

    fn check(&self) -> Result<(), ExitCode> {
        emit::check("report", self.report.path.as_deref())
    }

    fn measure(
        &mut self,
        case: &ForwardCase,
        progress: &mut Progress,
    ) -> anyhow::Result<Option<ForwardRun>> {
        row::run(self, case, progress)
    }

    fn show(&self, rows: &Rows<Self>, json: bool, interrupted: bool) -> ExitCode {
        let ran: Vec<&ForwardRun> = rows.iter().flat_map(|row| &row.runs).collect();
        let document = results::document(self, &ran, interrupted);
        let page = Page {
            document: &document,
            origin: Origin::Live,
            about: results::ABOUT,
            charts: results::charts(&ran),
            remark: Some(results::REMARK.to_owned()),
            command: command_line(None),
        };
        print_page(page, json, &self.report)
    }
}
