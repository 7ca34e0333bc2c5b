//! What the experiment showed, as data: the same rows live and simulated.

use serde::Serialize;

use taut_sim::meter::{Curve, Quantiles};
use taut_sim::results::Figure;

use super::experiment::{Case, Experiment};

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
    /// What carried the packets.
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
    /// `None` where no real processor did the work.
    pub cpu_percent: Option<f64>,
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

/// What carried the packets, and how fast.
#[derive(Debug, Clone, Copy)]
pub struct Carrier {
    pub driver: &'static str,
    pub rate_bits_per_s: u64,
}

impl Results {
    /// The document of `experiment` over `carrier`, which gave `rows`.
    pub fn new(experiment: &Experiment, carrier: Carrier, rows: Vec<Row>) -> Self {
        let parameters = Parameters {
            driver: carrier.driver,
            rate_bits_per_s: carrier.rate_bits_per_s,
            ring_slots: experiment.ring,
            cadence_ns: experiment.cadence,
            qdisc: experiment.qdisc.clone(),
            limit: experiment.limit.to_string(),
            streams: experiment.streams,
            duration_ns: experiment.duration,
        };
        let figures = super::published::figures(&parameters, &rows);
        Self {
            version: DOCUMENT_VERSION,
            scenario: "rr-under-load",
            taut_version: env!("CARGO_PKG_VERSION"),
            seed: experiment.seed,
            parameters,
            rows,
            figures,
        }
    }
}

/// How many of something there are in a second, if there were `count` in `length_ns`.
pub fn per_second(count: u64, length_ns: u64) -> f64 {
    count as f64 * 1e9 / length_ns.max(1) as f64
}

/// Rounds to one decimal: more would promise what a run of seconds cannot know.
pub fn one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
