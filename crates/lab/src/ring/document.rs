//! The document.

use serde::Serialize;
use taut_report::document::DOCUMENT_VERSION;

use super::config::RingSweep;
use super::findings::{Finding, findings};
use super::rows::RingRow;
use super::table::table;

/// The document.
#[derive(Debug, Serialize)]
pub struct RingDocument {
    version: u32,
    scenario: &'static str,
    taut_version: &'static str,
    seed: u64,
    interrupted: bool,
    coalesce_ns: u64,
    duration_ns: u64,
    repetitions: u32,
    rows: Vec<RingRow>,
    findings: Vec<Finding>,
}

impl RingDocument {
    pub fn rows(&self) -> &[RingRow] {
        &self.rows
    }

    pub fn new(options: &RingSweep, rows: Vec<RingRow>, interrupted: bool) -> Self {
        Self {
            version: DOCUMENT_VERSION,
            scenario: "ring",
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: options.seed,
            interrupted,
            coalesce_ns: options.coalesce.0,
            duration_ns: options.duration.0,
            repetitions: options.repeat,
            findings: findings(&rows),
            rows,
        }
    }

    /// Returns a table for each link.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut shown: Vec<&RingRow> = Vec::new();
        for row in &self.rows {
            if shown.iter().any(|it| it.is_of(row)) {
                continue;
            }
            shown.push(row);
            let rows: Vec<&RingRow> = self.rows.iter().filter(|it| it.is_of(row)).collect();
            text += &table(&rows);
            let findings = self.findings.iter().filter(|it| it.is_of(row));
            for line in findings.map(Finding::sentence) {
                text += &line;
                text.push('\n');
            }
            text.push('\n');
        }
        text
    }
}
