//! What the experiment showed live, as data.

use serde::Serialize;
use taut_path::{AnyLimit, Split};
use taut_report::document::{DOCUMENT_VERSION, Document};
use taut_scenarios::rr_under_load::{Row, Settings, figures, is_published};
use taut_scenarios::stated::Stated;

use super::experiment::Experiment;

/// What was run.
#[derive(Debug, Serialize)]
pub struct Parameters {
    /// What carried the packets.
    pub driver: &'static str,
    pub rate_bits_per_s: u64,
    pub ring_slots: u32,
    pub cadence_ns: u64,
    pub qdisc: String,
    pub limits: Vec<String>,
    pub splits: Vec<String>,
    pub streams: u32,
    pub duration_ns: u64,
}

impl Parameters {
    /// Those of `experiment` with `limits` over `carrier`.
    pub fn of(experiment: &Experiment, limits: &[AnyLimit], carrier: Carrier) -> Self {
        Self {
            driver: carrier.driver,
            rate_bits_per_s: carrier.rate_bits_per_s,
            ring_slots: experiment.ring,
            cadence_ns: experiment.cadence.0,
            qdisc: experiment.qdisc.clone(),
            limits: limits.iter().map(AnyLimit::to_string).collect(),
            splits: experiment.splits().iter().map(Split::to_string).collect(),
            streams: experiment.streams,
            duration_ns: experiment.duration.0,
        }
    }

    /// Whether the published figures are of this experiment.
    pub fn is_published(&self) -> bool {
        self.driver != "af_packet"
            && is_published(self.streams, self.rate_bits_per_s, self.ring_slots)
    }
}

/// What carried the packets, and how fast.
#[derive(Debug, Clone, Copy)]
pub struct Carrier {
    pub driver: &'static str,
    pub rate_bits_per_s: u64,
}

/// The document of `experiment` with `limits` over `carrier`, which gave `rows`.
pub fn document(
    experiment: &Experiment,
    limits: &[AnyLimit],
    carrier: Carrier,
    rows: &[Row],
    interrupted: bool,
) -> Document {
    let parameters = Parameters::of(experiment, limits, carrier);
    let figures = if parameters.is_published() {
        figures(rows, &["cadence"], &["cadence"])
    } else {
        Vec::new()
    };
    let value = |row: &Row| serde_json::to_value(row).unwrap_or_default();
    Document {
        version: DOCUMENT_VERSION,
        scenario: Settings::NAME,
        taut_version: env!("CARGO_PKG_VERSION"),
        seed: experiment.seed,
        interrupted,
        parameters: serde_json::to_value(&parameters).unwrap_or_default(),
        rows: rows.iter().map(value).collect(),
        figures,
        ..Document::default()
    }
}
