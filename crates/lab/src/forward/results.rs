//! The results of the rows, as data and as charts.

use serde_json::{Value, json};
use taut_measure::DEFAULT_SEED;
use taut_path::units::Rate;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::document::{DOCUMENT_VERSION, Document};
use taut_report::limit_color::limit_color;
use taut_scenarios::rr_under_load::at_most;

use super::config::Forward;
use super::row::ForwardRun;

/// The description of the experiment.
pub const ABOUT: &str = "ping latency while bulk streams go from a fast link into a slow one, \
    through the kernel's bridge and through taut forward with and without its parts";

/// The descriptions of the columns.
const COLUMNS: &[(&str, &str)] = &[
    (
        "forwarder",
        "kernel: the kernel's bridge and its queue behind the shaper (TBF, burst 5k, 1,000 \
         packets); taut: taut forward into the same shaper",
    ),
    (
        "limit",
        "none: the kernel's bridge has no limit; off: only the ring of 1,024 frames limits",
    ),
    ("rate_bps", "of the slow link"),
    (
        "ping_us",
        "from the sending of a small datagram to its echo, every 5 ms; without lost ones",
    ),
];

fn row(ran: &ForwardRun) -> Value {
    let case = &ran.case;
    json!({
        "forwarder": if case.is_kernel() { "kernel" } else { "taut" },
        "qdisc": case.qdisc,
        "limit": case.limit_name(),
        "rate_bps": case.rate.0,
        "ping_us": {
            "p50": ran.pings.latency_ns.value_at_quantile(0.5) / 1000,
            "p99": ran.p99_ns() / 1000,
        },
        "goodput_bps": ran.goodput_bps,
    })
}

impl ForwardRun {
    fn p99_ns(&self) -> u64 {
        self.pings.latency_ns.value_at_quantile(0.99)
    }
}

/// Returns the document of the runs with `options`.
pub fn document(options: &Forward, ran: &[&ForwardRun], interrupted: bool) -> Document {
    let slow_bps: Vec<u64> = options.rates.iter().map(|rate| rate.0).collect();
    let parameters = json!({
        "fast_bps": options.fast_rate.0,
        "slow_bps": slow_bps,
        "streams": options.streams,
        "duration_ns": options.duration.0,
        "shaper_burst": "5k",
        "queue_packets": 1000,
    });
    Document {
        version: DOCUMENT_VERSION,
        scenario: "forward",
        taut_version: env!("CARGO_PKG_VERSION"),
        // The rows use no random numbers; every document has a seed.
        seed: DEFAULT_SEED,
        interrupted,
        notes: notes(ran),
        parameters,
        rows: ran.iter().map(|ran| row(ran)).collect(),
        columns: COLUMNS.to_vec(),
        ..Document::default()
    }
}

/// Timer lateness above which a note is printed: it is part of the latency of a ping.
const LATE_NS: u64 = 1_000_000;

/// Compares `taut forward` with the kernel's bridge at the same rate, and reports lost pings.
fn notes(ran: &[&ForwardRun]) -> Vec<String> {
    let mut notes = Vec::new();
    for one in ran {
        let of_kernel = |it: &&&ForwardRun| it.case.is_kernel() && it.case.rate == one.case.rate;
        if let Some(kernel) = ran.iter().find(of_kernel)
            && !one.case.is_kernel()
        {
            let share = |ours: u64, kernels: u64| ours as f64 * 100.0 / kernels.max(1) as f64;
            notes.push(format!(
                "{}: ping p99 is {:.1} %, goodput {:.1} % of those of the kernel's bridge",
                one.case,
                share(one.p99_ns(), kernel.p99_ns()),
                share(one.goodput_bps, kernel.goodput_bps)
            ));
        }
        let late_ns = one.pings.late_ns.value_at_quantile(0.99);
        if late_ns > LATE_NS {
            notes.push(format!(
                "{}: timers were up to {} us late (p99): the machine is busy, and the p99 \
                 includes its delays",
                one.case,
                late_ns / 1000
            ));
        }
        if one.pings.lost > 0 {
            notes.push(format!("{}: {} pings were lost", one.case, one.pings.lost));
        }
    }
    notes
}

/// The text above the charts.
pub const REMARK: &str = "A limit or a discipline alone does not reduce the ping: without a limit, \
    packets wait in the ring and the shaper instead of the discipline, and a single queue cannot \
    reorder them.";

/// Returns the distribution of the pings for each rate.
pub fn charts(ran: &[&ForwardRun]) -> Vec<Chart> {
    let mut rates: Vec<Rate> = ran.iter().map(|ran| ran.case.rate).collect();
    rates.dedup();
    rates
        .into_iter()
        .filter_map(|rate| chart(rate, ran))
        .collect()
}

fn chart(rate: Rate, ran: &[&ForwardRun]) -> Option<Chart> {
    let all: Vec<&ForwardRun> = ran
        .iter()
        .copied()
        .filter(|it| it.case.rate == rate && !it.pings.latency_ns.is_empty())
        .collect();
    let lowest = all.iter().map(|it| it.pings.latency_ns.min()).min()?;
    let highest = all.iter().map(|it| it.pings.latency_ns.max()).max()?;
    let medians = all.iter().map(|it| {
        let us = it.pings.latency_ns.value_at_quantile(0.5) / 1000;
        format!("{}: median {us} us", it.case)
    });
    Some(Chart {
        title: format!("Ping under load, into {rate}"),
        description: medians.collect::<Vec<_>>().join("; "),
        x: Axis::times("ping", lowest as f64, highest as f64),
        y: Axis::linear("% of the pings at most", 100.0),
        lines: all.iter().map(|it| line(it)).collect(),
    })
}

fn line(ran: &ForwardRun) -> Line {
    let (case, limit) = (&ran.case, ran.case.limit_name());
    let color = limit_color(&limit, [limit.as_str()]);
    let (label, stroke) = match case.qdisc {
        _ if case.is_kernel() => ("the kernel's bridge".to_owned(), Stroke::Dashed),
        qdisc if qdisc.starts_with("pfifo") => (format!("{qdisc}, limit {limit}"), Stroke::Dotted),
        qdisc => (format!("{qdisc}, limit {limit}"), Stroke::Solid),
    };
    at_most(label, (color, stroke), &ran.pings.latency_ns)
}
