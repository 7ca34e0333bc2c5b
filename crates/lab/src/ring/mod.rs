//! Limits compared with fixed depths of a ring, over real drivers.

mod case;
mod config;
mod document;
mod links;
mod rows;

use std::process::ExitCode;

use taut_report::page::{Origin, Page, command_line};
use taut_report::{emit, exit};

use crate::experiment::{Experiment, Rows, print_page};
use crate::progress::Progress;
use case::RingCase;
pub use config::RingSweep;
use rows::RingRow;
use taut_relay::transmit::Outcome;

impl Experiment for RingSweep {
    type Case = RingCase;
    type Measurement = Outcome;

    fn cases(&self) -> Result<Vec<RingCase>, String> {
        Ok(case::cases(self))
    }

    fn plan(&self, cases: &[RingCase]) -> String {
        let mut text = match self.card() {
            Some((device, peer_mac)) => {
                format!("ring: would saturate the link of {device} with frames to {peer_mac}\n")
            }
            None => "ring: would create 2 network namespaces with a veth between for each row, \
                     until this process ends\n"
                .to_owned(),
        };
        for case in cases {
            text += &format!("would run {case}\n");
        }
        text + &format!(
            "{} times each, {} after a warm-up, completions every {}\n",
            self.repeat, self.duration, self.coalesce
        )
    }

    fn check(&self) -> Result<(), ExitCode> {
        emit::check("report", self.report.path.as_deref())?;
        match self.card() {
            Some((device, _)) if !self.yes => {
                let message = format_args!(
                    "this saturates the link of {device} for a minute or two; confirm with --yes \
                     that no other host needs it"
                );
                Err(exit::fail(exit::USAGE, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns `false` for a card, which is in the namespace of the process.
    fn needs_namespaces(&self) -> bool {
        self.card().is_none()
    }

    fn repetitions(&self) -> u32 {
        self.repeat
    }

    fn alternates(a: &RingCase, b: &RingCase) -> bool {
        (a.driver, &a.link) == (b.driver, &b.link)
    }

    fn measure(&mut self, case: &RingCase, _: &mut Progress) -> anyhow::Result<Option<Outcome>> {
        let ran = case.run(self)?;
        let unaccounted_packets = ran
            .as_ref()
            .map_or(0, |ran| ran.account.unaccounted_packets());
        anyhow::ensure!(
            unaccounted_packets == 0,
            "{unaccounted_packets} packets are unaccounted for"
        );
        Ok(ran)
    }

    fn show(&self, rows: &Rows<Self>, json: bool, interrupted: bool) -> ExitCode {
        let mut rows: Vec<RingRow> = rows.iter().filter_map(RingRow::new).collect();
        rows::compare(&mut rows);
        let document = document::document(self, &rows, interrupted);
        let page = Page {
            document: &document,
            origin: Origin::Live,
            about: document::ABOUT,
            charts: document::charts(&rows),
            remark: None,
            command: command_line(None),
        };
        print_page(page, json, &self.report)
    }
}
