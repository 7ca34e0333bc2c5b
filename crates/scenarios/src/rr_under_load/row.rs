//! Results of one row, as data: the same fields live and simulated.

use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

use super::Case;
use super::charts::{IN_RING, LIMIT, distribution};
use taut_measure::meter::{Curve, Quantiles};
use taut_report::document::Series;

/// The results of a case.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Its limit and its segmentation.
    #[serde(flatten)]
    pub case: Case,
    /// Bytes in the ring, queued minus reported, weighted by time.
    #[serde(serialize_with = "quantiles")]
    pub inflight_bytes: Quantiles,
    /// Packets queued in the discipline, weighted by time.
    #[serde(serialize_with = "quantiles")]
    pub backlog_packets: Quantiles,
    /// Median of the limit; `None` without a limit, and for a limit in packets.
    pub limit_bytes_p50: Option<u64>,
    /// Transactions per second.
    pub rr_tps: f64,
    /// Latencies of the transactions, in ns.
    #[serde(rename = "rr_latency_us", serialize_with = "in_us")]
    pub latency_ns: Histogram<u64>,
    /// Payload bits that arrived at the receivers for the first time, per second.
    pub goodput_bps: u64,
    /// Processor time of this process, including the kernel's work for it; 100 is one core. `None`
    /// in virtual time.
    pub cpu_percent: Option<f64>,
    /// Packets lost in both directions.
    pub drops: u64,
    /// Packets that the disciplines marked instead of dropping them, in both directions.
    pub marks: u64,
    /// TCP retransmissions in both directions: segments live, packets simulated.
    pub retransmits: u64,
    /// Times that the oldest bytes in flight exceeded the stall threshold, in both directions.
    /// `None` without stall detection: a simulated device stalls only on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<u64>,
    /// Lateness of the timers that move the packets. `None` in virtual time.
    pub timer_lateness_us: Option<Lateness>,
    /// Bytes in the ring and the limit over time.
    #[serde(skip)]
    pub curve: Curve,
}

fn quantiles<S: Serializer>(of: &Quantiles, to: S) -> Result<S::Ok, S::Error> {
    let values = [
        ("p10", of.p10),
        ("p50", of.p50),
        ("p90", of.p90),
        ("max", of.max),
    ];
    to.collect_map(values)
}

/// The quantiles of a latency distribution.
const LATENCIES: [(&str, f64); 9] = [
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("max", 1.0),
];

fn in_us<S: Serializer>(latency_ns: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
    let us = |share| latency_ns.value_at_quantile(share) / 1000;
    to.collect_map(LATENCIES.map(|(name, share)| (name, us(share))))
}

/// Lateness of scheduled events, in us. It adds to every latency, and can let a ring run dry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

impl Lateness {
    /// Returns the distribution of values in ns.
    pub fn of(late_ns: &Histogram<u64>) -> Self {
        let us = |share| late_ns.value_at_quantile(share) / 1000;
        Self {
            p50: us(0.5),
            p99: us(0.99),
            max: late_ns.max() / 1000,
        }
    }
}

impl Row {
    /// Returns the curves of a row that took `length_ns`, and its latencies.
    pub fn series(&self, length_ns: u64) -> Vec<Series> {
        let name = self.case.to_string();
        let bytes = |what, values: &[u64]| {
            let steps = values.len() as u64;
            // The last value is valid until the end.
            let values = values.iter().chain(values.last());
            let point = |(at, &value)| (at as u64 * length_ns / steps, value as f64);
            Series::bytes(&*name, what, values.enumerate().map(point))
        };
        let mut found = vec![bytes(IN_RING, &self.curve.in_flight_bytes)];
        // Only a limit in bytes is comparable with the bytes in the ring.
        if self.limit_bytes_p50.is_some() {
            found.push(bytes(LIMIT, &self.curve.limit));
        }
        if !self.latency_ns.is_empty() {
            found.push(distribution(&*name, &self.latency_ns));
        }
        found
    }
}
