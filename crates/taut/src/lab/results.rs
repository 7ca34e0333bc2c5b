//! What a lab found, as data.

use serde::Serialize;

use super::meter::{Curve, Quantiles};
use super::options::{Case, RrUnderLoad};
use super::published::Figure;

/// The version of the JSON document, for its readers.
const DOCUMENT_VERSION: u32 = 1;

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
    pub driver: &'static str,
    pub rate_bits_per_s: u64,
    pub ring_slots: u32,
    pub cadence_ns: u64,
    pub qdisc: String,
    pub limit: String,
    pub streams: u32,
    pub duration_ns: u64,
}

/// One combination of limit and TSO.
#[derive(Debug, Serialize)]
pub struct Row {
    pub bql: bool,
    pub tso: bool,
    /// Queued minus reported, weighted by time.
    pub inflight_bytes: Quantiles,
    /// `None` without a limit, and for a limit in packets.
    pub limit_bytes_p50: Option<u64>,
    pub rr_tps: f64,
    pub rr_latency_us: Latency,
    /// Payload bits that arrived at the receivers for the first time, per second.
    pub goodput_bps: u64,
    /// Processor time of this process, the kernel's work for it included; 100 is one core.
    pub cpu_percent: f64,
    /// Packets lost on the way, both directions.
    pub drops: u64,
    #[serde(skip)]
    pub curve: Curve,
}

/// Quantiles of the latency of a request and its response, in us.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    pub p50: u64,
    pub p99: u64,
}

impl Row {
    pub const fn case(&self) -> Case {
        Case {
            bql: self.bql,
            tso: self.tso,
        }
    }
}

impl Results {
    /// The document of a run of `options` that found `rows`.
    pub fn new(options: &RrUnderLoad, rows: Vec<Row>) -> Self {
        let figures = super::published::figures(options, &rows);
        Self {
            version: DOCUMENT_VERSION,
            scenario: "rr-under-load",
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: options.seed,
            parameters: Parameters {
                driver: options.driver.name(),
                rate_bits_per_s: options.rate_bits_per_s(),
                ring_slots: options.ring,
                cadence_ns: options.cadence,
                qdisc: options.qdisc.clone(),
                limit: options.limit.to_string(),
                streams: options.streams,
                duration_ns: options.duration,
            },
            rows,
            figures,
        }
    }
}

/// Rounds to one decimal: more would promise what a run of seconds cannot know.
pub fn one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
