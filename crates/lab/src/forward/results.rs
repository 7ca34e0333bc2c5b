//! What the rows showed, as data.

use serde_json::{Value, json};
use taut_report::document::{DOCUMENT_VERSION, Document};

use super::case::{ForwardCase, Forwarder};
use super::config::Forward;
use super::row::ForwardRun;

/// What the lab shows, in a line.
pub const ABOUT: &str = "bulk streams go from a fast link into a slow one: what a ping meets \
    behind the kernel's own bridge, and behind ours with and without its parts";

/// What the columns mean, for people.
const COLUMNS: &[(&str, &str)] = &[
    (
        "forwarder",
        "kernel: the kernel's bridge and what waits behind the shaper (TBF, burst 5k, 1,000 \
         packets); taut: taut forward into the same shaper",
    ),
    (
        "limit",
        "none: no rule of ours; off: the ring of 1,024 frames is all that holds it back",
    ),
    ("rate_bps", "of the slow link"),
    (
        "ping_us",
        "from a small datagram's sending to its echo, one each 5 ms; what was lost is not in it",
    ),
];

fn row(ran: &ForwardRun) -> Value {
    let ForwardCase { forwarder, rate } = &ran.case;
    json!({
        "forwarder": forwarder.name(),
        "qdisc": forwarder.qdisc(),
        "limit": forwarder.limit(),
        "rate_bps": rate.0,
        "ping_us": {
            "p50": ran.ping_ns.value_at_quantile(0.5) / 1000,
            "p99": ran.p99_ns() / 1000,
        },
        "goodput_bps": ran.goodput_bps,
    })
}

impl ForwardRun {
    fn p99_ns(&self) -> u64 {
        self.ping_ns.value_at_quantile(0.99)
    }
}

/// The document of `options`, which gave `ran`.
pub fn document(options: &Forward, ran: &[&ForwardRun], interrupted: bool) -> Document {
    let slow_bps: Vec<u64> = options.rates().iter().map(|rate| rate.0).collect();
    let parameters = json!({
        "fast_bps": options.fast.0,
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
        seed: options.seed,
        interrupted,
        notes: notes(ran),
        parameters,
        rows: ran.iter().map(|ran| row(ran)).collect(),
        columns: COLUMNS,
        ..Document::default()
    }
}

/// Timers that are later than this are worth a word: a ping is no better than its timer.
const LATE_NS: u64 = 1_000_000;

/// How ours compares with the kernel's bridge at the same rate, and what was lost.
fn notes(ran: &[&ForwardRun]) -> Vec<String> {
    let mut notes = Vec::new();
    for one in ran {
        let of_kernel = |it: &&&ForwardRun| {
            it.case.forwarder == Forwarder::Kernel && it.case.rate == one.case.rate
        };
        if let Some(kernel) = ran.iter().find(of_kernel)
            && one.case.forwarder != Forwarder::Kernel
        {
            let share = |ours: u64, kernels: u64| ours as f64 * 100.0 / kernels.max(1) as f64;
            notes.push(format!(
                "{}: p99 is {:.1} % of the kernel's bridge's, at {:.1} % of its goodput",
                one.case,
                share(one.p99_ns(), kernel.p99_ns()),
                share(one.goodput_bps, kernel.goodput_bps)
            ));
        }
        let late_ns = one.late_ns.value_at_quantile(0.99);
        if late_ns > LATE_NS {
            notes.push(format!(
                "{}: timers were {} us late (99 of 100): the machine is busy, and the p99 is its \
                 own as well",
                one.case,
                late_ns / 1000
            ));
        }
        if one.lost_pings > 0 {
            notes.push(format!("{}: {} pings were lost", one.case, one.lost_pings));
        }
    }
    notes
}
