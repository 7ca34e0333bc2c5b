//! Limits compared with fixed depths of a ring, over real drivers.

mod case;
mod charts;
mod config;
mod document;
mod findings;
mod links;
mod measure;
mod rows;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use taut_report::plot::picture;
use taut_report::{exit, say};

use crate::experiment::{Experiment, Results, Rows, TextFile, check_files};
use crate::progress::Progress;
use case::RingCase;
pub use config::{Card, MAX_SLOTS, RingSweep};
use document::RingDocument;
use measure::RingRun;
use rows::RingRow;

impl Experiment for RingSweep {
    type Case = RingCase;
    type Ran = RingRun;

    fn cases(&self) -> Result<Vec<RingCase>, String> {
        Ok(case::cases(self))
    }

    fn plan(&self, cases: &[RingCase]) -> String {
        let mut text = match &self.card {
            Some(Card {
                device, peer_mac, ..
            }) => format!("ring: would saturate the link of {device} with frames to {peer_mac}\n"),
            None => {
                "ring: would create 2 network namespaces with a veth between for each row, until \
                     this process ends\n"
                    .to_owned()
            }
        };
        for case in cases {
            text += &format!("would run {case}\n");
        }
        text + &format!(
            "{} times each, {} after a warm-up, completions every {}\n",
            self.repetitions, self.duration, self.coalesce
        )
    }

    fn check(&self) -> Result<(), ExitCode> {
        check_files([("picture", &self.svg), ("tables", &self.tables)])?;
        match &self.card {
            Some(card) if !card.confirmed => {
                say!(
                    "taut: this saturates the link of {} for a minute or two; confirm with --yes \
                     that no other host needs it",
                    card.device
                );
                Err(ExitCode::from(exit::USAGE))
            }
            _ => Ok(()),
        }
    }

    /// Returns `false` for a card, which is in the namespace of the process.
    fn needs_namespaces(&self) -> bool {
        self.card.is_none()
    }

    fn repetitions(&self) -> u32 {
        self.repetitions
    }

    fn alternate(&self, a: &RingCase, b: &RingCase) -> bool {
        (a.driver, &a.link) == (b.driver, &b.link)
    }

    fn measure(&mut self, case: &RingCase, _: &mut Progress) -> anyhow::Result<Option<RingRun>> {
        let ran = case.run(self)?;
        let unaccounted_packets = ran.as_ref().map_or(0, |ran| ran.unaccounted_packets);
        anyhow::ensure!(
            unaccounted_packets == 0,
            "{unaccounted_packets} packets are unaccounted for"
        );
        Ok(ran)
    }

    fn results(&self, rows: &Rows<Self>, interrupted: bool) -> Results {
        let rows = rows.iter().map(RingRow::new).collect();
        let document = RingDocument::new(self, rows, interrupted);
        let file = |what, path: &Option<PathBuf>, text: fn(&RingDocument) -> String| {
            path.as_ref().map(|path| TextFile {
                what,
                path: path.clone(),
                text: text(&document),
            })
        };
        let svg = file("picture", &self.svg, |document| {
            picture(&charts::charts(document.rows()))
        });
        let tables = file("tables", &self.tables, |document| document.text(true));
        Results {
            json: serde_json::to_value(&document).unwrap_or_default(),
            table: document.text(false),
            files: svg.into_iter().chain(tables).collect(),
        }
    }
}
