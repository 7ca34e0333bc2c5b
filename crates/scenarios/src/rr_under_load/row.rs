//! What one row showed, as data: the same fields live and simulated.

use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};
use taut_path::{AnyLimit, LateSegmentation};

use super::Case;
use crate::serde_text::as_text;
use taut_measure::meter::{Curve, Quantiles};

/// One combination of limit and TSO.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What held the queue back.
    #[serde(serialize_with = "as_text::serialize")]
    pub limit: AnyLimit,
    /// Whether that was a limit.
    pub bql: bool,
    /// The senders handed over super-packets.
    pub tso: bool,
    /// How those went to the device.
    #[serde(serialize_with = "as_text::serialize")]
    pub split: LateSegmentation,
    /// Queued minus reported, weighted by time.
    #[serde(serialize_with = "quantiles")]
    pub inflight_bytes: Quantiles,
    /// Packets waiting in the discipline, weighted by time.
    #[serde(serialize_with = "quantiles")]
    pub waiting_packets: Quantiles,
    /// `None` without a limit, and for a limit in packets.
    pub limit_bytes_p50: Option<u64>,
    /// Transactions per second.
    pub rr_tps: f64,
    /// Their latency.
    pub rr_latency_us: Latency,
    /// Payload bits that arrived at the receivers for the first time, per second.
    pub goodput_bps: u64,
    /// Processor time of this process, the kernel's work for it included; 100 is one core.
    /// `None` where no real processor did the work.
    pub cpu_percent: Option<f64>,
    /// Packets lost on the way, both directions.
    pub drops: u64,
    /// Packets that the disciplines marked instead of dropping them, both directions.
    pub marks: u64,
    /// What TCP sent again, both directions: segments live, packets simulated.
    pub retransmits: u64,
    /// Times that the oldest bytes in flight were older than the threshold of the stall watch, both
    /// directions. `None` where nobody watches: a simulated device stands still only when told to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalls: Option<u64>,
    /// How late the timers were that move the packets. `None` where time is virtual.
    pub timers_late_us: Option<Lateness>,
    /// How bytes in the ring and the limit went.
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

/// The distribution of the latency of a request and its response, in us: `p99` is what 99 of 100
/// do not exceed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    /// A tenth.
    pub p10: u64,
    /// A quarter.
    pub p25: u64,
    /// Half.
    pub p50: u64,
    /// Three quarters.
    pub p75: u64,
    /// Nine tenths.
    pub p90: u64,
    /// All but a twentieth.
    pub p95: u64,
    /// All but a hundredth.
    pub p99: u64,
    /// All but a thousandth.
    pub p99_9: u64,
    /// All.
    pub max: u64,
}

/// How late the moments came at which something was due, in us. What is late adds to every
/// latency, and lets a ring run dry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Half of them were at most so late.
    pub p50: u64,
    /// All but a hundredth.
    pub p99: u64,
    /// All.
    pub max: u64,
}

impl Lateness {
    /// The distribution of what was recorded in ns.
    pub fn of(late_ns: &Histogram<u64>) -> Self {
        let us = |share| late_ns.value_at_quantile(share) / 1000;
        Self {
            p50: us(0.5),
            p99: us(0.99),
            max: late_ns.max() / 1000,
        }
    }
}

impl Latency {
    /// The distribution of what was recorded in ns.
    pub fn of(latency_ns: &Histogram<u64>) -> Self {
        let us = |share| latency_ns.value_at_quantile(share) / 1000;
        Self {
            p10: us(0.1),
            p25: us(0.25),
            p50: us(0.5),
            p75: us(0.75),
            p90: us(0.9),
            p95: us(0.95),
            p99: us(0.99),
            p99_9: us(0.999),
            max: latency_ns.max() / 1000,
        }
    }
}

impl Row {
    /// Which row it is.
    pub fn case(&self) -> Case {
        Case {
            limit: self.limit.clone(),
            tso: self.tso,
            split: self.split,
        }
    }
}
