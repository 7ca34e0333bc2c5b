//! The results as data.

use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::json;
use taut_lab::experiment::Row;
use taut_report::document::{DOCUMENT_VERSION, Document};

use super::case::Case;
use super::options::Options;
use super::row::RunResult;
use super::summary::summary;

/// Description of the benchmark, in one line.
pub const ABOUT: &str = "bulk and a small request of high priority through one QUIC endpoint: the \
    waiting time of a request behind earlier packets of the endpoint";

/// Meaning of the columns.
const COLUMNS: &[(&str, &str)] = &[
    (
        "variant",
        "plain: quinn without a limit; buffer: with a fixed send buffer; bbr: with quinn's BBR; \
         dql: with Linux's rule; taut: the adapter with its defaults, and a window that grows \
         only while it is used",
    ),
    (
        "connections",
        "1: the request on the connection of the bulk; 2: on one of its own",
    ),
    (
        "goodput_bps",
        "received bulk and requests: a client with faster answers sends more requests",
    ),
    (
        "request_us",
        "from a request of 100 bytes to its response, one every 50 ms",
    ),
    (
        "below_socket_bytes",
        "with a limit the bytes that it counts, otherwise the kernel's memory (SIOCOUTQ), which \
         is 0 for packets that wait beyond the own namespace",
    ),
    (
        "cpu_percent",
        "of one CPU, both ends together, including the threads of an added delay",
    ),
];

#[derive(Debug, Serialize)]
struct QuicRow {
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

impl QuicRow {
    fn of(row: &Row<Case, RunResult>) -> Self {
        let median = |of: &dyn Fn(&RunResult) -> u64| row.median(of).unwrap_or(0);
        let request_us = |share| median(&|ran| at(&ran.request_ns, share) / 1000);
        let below = |share| median(&|ran| at(&ran.below_socket_bytes, share));
        let limit = |ran: &RunResult| ran.limit_bytes.as_ref().map(|limit| at(limit, 0.5));
        Self {
            variant: row.case.variant.name(),
            connections: row.case.connections,
            request_us: Quantiles {
                p50: request_us(0.5),
                p99: request_us(0.99),
            },
            goodput_bps: median(&|ran| ran.goodput_bps),
            below_socket_bytes: Below {
                p50: below(0.5),
                p90: below(0.9),
            },
            limit_bytes_p50: row.median(limit).flatten(),
            lost_datagrams: median(&|ran| ran.lost_datagrams),
            cpu_percent: median(&|ran| ran.cpu_percent),
        }
    }
}

fn at(values: &Histogram<u64>, share: f64) -> u64 {
    values.value_at_quantile(share)
}

/// Returns the document of `options` and its rows.
pub fn document(options: &Options, rows: &[Row<Case, RunResult>], interrupted: bool) -> Document {
    let parameters = json!({
        "rate_bps": options.rate.0,
        "topology": options.topology.name(),
        "distance_ns": options.distance.0,
        "falls": options.falls,
        "repetitions": options.repeat,
        "duration_ns": options.duration.0,
    });
    let entry = |row| serde_json::to_value(QuicRow::of(row)).unwrap_or_default();
    Document {
        version: DOCUMENT_VERSION,
        scenario: "quic",
        taut_version: env!("CARGO_PKG_VERSION"),
        interrupted,
        parameters,
        rows: rows.iter().map(entry).collect(),
        columns: COLUMNS,
        summary: summary(rows),
        ..Document::default()
    }
}
