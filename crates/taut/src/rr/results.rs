//! What the experiment showed live, as data.

use serde::Serialize;
use taut_path::AnyLimit;
use taut_sim::results::{DOCUMENT_VERSION, Figure};
use taut_sim::scenario::registry::Scenario;
use taut_sim::scenario::rr_under_load::{Row, Settings, figures, is_published};

use super::experiment::Experiment;

/// Everything that one run found.
#[derive(Debug, Serialize)]
pub struct Results {
    pub version: u32,
    pub scenario: &'static str,
    pub taut_version: &'static str,
    pub seed: u64,
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub figures: Vec<Figure>,
}

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
    pub streams: u32,
    pub duration_ns: u64,
}

impl Parameters {
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

impl Results {
    /// The document of `experiment` with `limits` over `carrier`, which gave `rows`.
    pub fn new(
        experiment: &Experiment,
        limits: &[AnyLimit],
        carrier: Carrier,
        rows: Vec<Row>,
    ) -> Self {
        let parameters = Parameters {
            driver: carrier.driver,
            rate_bits_per_s: carrier.rate_bits_per_s,
            ring_slots: experiment.ring,
            cadence_ns: experiment.cadence.0,
            qdisc: experiment.qdisc.clone(),
            limits: limits.iter().map(AnyLimit::to_string).collect(),
            streams: experiment.streams,
            duration_ns: experiment.duration.0,
        };
        let figures = if parameters.is_published() {
            figures(&rows, &["cadence"], &["cadence"])
        } else {
            Vec::new()
        };
        Self {
            version: DOCUMENT_VERSION,
            scenario: Settings::NAME,
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: experiment.seed,
            parameters,
            rows,
            figures,
        }
    }
}
