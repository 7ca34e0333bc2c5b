//! What the rows showed, as data.

use hdrhistogram::Histogram;
use serde::Serialize;
use taut_report::document::{DOCUMENT_VERSION, Document};

use super::options::LabQuic;
use super::rounds::Rounds;
use super::row::Ran;
use super::summary::summary;

/// What the lab shows, in a line.
pub const ABOUT: &str = "bulk and a small request of high priority through one QUIC endpoint: what a \
    request waits behind what the endpoint wrote before";

/// What the columns mean, for people.
const COLUMNS: &[(&str, &str)] = &[
    (
        "variant",
        "plain: quinn as it comes; buffer: with a fixed send buffer; bbr: with quinn's BBR; dql: under \
         Linux's rule; taut: the adapter as it comes, and a window that grows only while it is used",
    ),
    (
        "connections",
        "1: the request on the connection of the bulk; 2: on one of its own",
    ),
    (
        "goodput_bps",
        "bulk and requests that arrived: who is answered sooner asks more",
    ),
    (
        "request_us",
        "from a request of 100 bytes to its answer, one each 50 ms",
    ),
    (
        "below_socket_bytes",
        "with a limit what it counts, else the kernel's memory (SIOCOUTQ), which is 0 for what waits \
         beyond the own namespace",
    ),
    (
        "cpu_percent",
        "of one processor, both ends together, and with a distance what carries it",
    ),
];

#[derive(Debug, Serialize)]
struct Row {
    variant: String,
    connections: u32,
    request_us: Quantiles,
    goodput_bps: u64,
    below_socket_bytes: Below,
    limit_bytes_p50: Option<u64>,
    lost_datagrams: u64,
    cpu_percent: u64,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    p50: u64,
    p99: u64,
}

#[derive(Debug, Serialize)]
struct Below {
    p50: u64,
    p90: u64,
}

#[derive(Debug, Serialize)]
struct Parameters {
    rate_bps: u64,
    topology: &'static str,
    distance_ns: u64,
    falls: bool,
    rounds: u32,
    duration_ns: u64,
}

impl Row {
    fn of(rows: &Rounds) -> Self {
        let request_us = |part| rows.median(|ran| at(&ran.request_ns, part) / 1000);
        let below = |part| rows.median(|ran| at(&ran.below_socket_bytes, part));
        let limit = |ran: &Ran| ran.limit_bytes.as_ref().map(|limit| at(limit, 0.5));
        Self {
            variant: rows.case.variant.name(),
            connections: rows.case.connections,
            request_us: Quantiles {
                p50: request_us(0.5),
                p99: request_us(0.99),
            },
            goodput_bps: rows.median(|ran| ran.goodput_bps),
            below_socket_bytes: Below {
                p50: below(0.5),
                p90: below(0.9),
            },
            limit_bytes_p50: rows.median_of_some(limit),
            lost_datagrams: rows.median(|ran| ran.lost_datagrams),
            cpu_percent: rows.median(|ran| ran.cpu_percent),
        }
    }
}

fn at(values: &Histogram<u64>, part: f64) -> u64 {
    values.value_at_quantile(part)
}

/// The document of `options`, which gave `ran`.
pub fn document(options: &LabQuic, rows: &[Rounds], interrupted: bool) -> Document {
    let parameters = Parameters {
        rate_bps: options.rate.0,
        topology: options.topology.name(),
        distance_ns: options.distance.0,
        falls: options.falls,
        rounds: options.rounds,
        duration_ns: options.duration.0,
    };
    let row = |rows: &Rounds| serde_json::to_value(Row::of(rows)).unwrap_or_default();
    Document {
        version: DOCUMENT_VERSION,
        scenario: "quic",
        taut_version: env!("CARGO_PKG_VERSION"),
        interrupted,
        parameters: serde_json::to_value(parameters).unwrap_or_default(),
        rows: rows.iter().map(row).collect(),
        columns: COLUMNS,
        summary: summary(rows),
        ..Document::default()
    }
}
