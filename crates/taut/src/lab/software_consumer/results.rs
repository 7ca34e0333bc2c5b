//! What was found, as data.

use serde::Serialize;
use serde_json::{Value, json};
use taut_report::document::{DOCUMENT_VERSION, Document, Summary};
use taut_report::number::one_decimal;
use taut_scenarios::software_consumer::LimitName;

use super::options::SoftwareConsumer;
use super::rows::{ENOUGH, Figures, Found};

/// What is wanted of a limit: packets over those of no limit, and p99 of the ping over that of the least
/// fixed limit.
const LEAST_OF_OFF: f64 = 0.98;
const MOST_PING: f64 = 1.5;

const COLUMNS: &[(&str, &str)] = &[
    (
        "limit",
        "fixed:99.9% is the least fixed one that gives so much of what the best fixed one gives, found live; \
         :packets counts packets, :min-8 is never below 8",
    ),
    (
        "told",
        "of each packet, once a poll, or put together over a time",
    ),
    (
        "limit_p50, inflight_mean",
        "in packets, whatever is counted",
    ),
    (
        "of_off",
        "packets a second over those without a limit in the same round",
    ),
    ("of_best", "the same over those of the best fixed limit"),
    (
        "over_least, ping_over_least",
        "mean in flight, and p99 of the ping, over those of the least fixed limit with 99.9 %",
    ),
];

#[derive(Debug, Serialize)]
struct Parameters {
    slow_packet_ns: u64,
    fast_packet_ns: Option<u64>,
    sender_packet_ns: u64,
    ring_slots: u32,
    poll_packets: u32,
    rounds: u32,
    warm_up_ns: u64,
    duration_ns: u64,
    real_time: bool,
}

/// The document of `options`, which gave `found`.
pub fn document(
    options: &SoftwareConsumer,
    found: &[Found],
    real_time: bool,
    interrupted: bool,
) -> Document {
    let parameters = Parameters {
        slow_packet_ns: options.slow_packet.0,
        fast_packet_ns: options.fast_packet.map(|cost| cost.0),
        sender_packet_ns: options.sender_packet.0,
        ring_slots: options.ring,
        poll_packets: options.poll,
        rounds: options.rounds,
        warm_up_ns: options.warm_up.0,
        duration_ns: options.duration.0,
        real_time,
    };
    let rows = found.iter().flat_map(|found| {
        let limits = limits(options, found);
        limits.into_iter().filter_map(|limit| row(found, &limit))
    });
    Document {
        version: DOCUMENT_VERSION,
        scenario: "software-consumer",
        taut_version: env!("CARGO_PKG_VERSION"),
        seed: options.seed,
        interrupted,
        parameters: serde_json::to_value(parameters).unwrap_or_default(),
        rows: rows.collect(),
        columns: COLUMNS,
        summary: summary(found),
        ..Document::default()
    }
}

/// The limits that were asked for, in that order; no limit is always among them.
fn limits(options: &SoftwareConsumer, found: &Found) -> Vec<LimitName> {
    let mut limits: Vec<_> = found.rules().take(1).cloned().collect();
    limits.retain(|off| !options.limits.contains(off));
    limits.extend(options.limits.iter().cloned());
    limits
}

fn row(found: &Found, limit: &LimitName) -> Option<Value> {
    let figures = found.figures(limit)?;
    let us = |ns: f64| one_decimal(ns / 1e3);
    let over = |of: fn(&Figures) -> f64| {
        let least = found.least(ENOUGH)?;
        Some(thousandths(
            of(&figures) / of(&least).max(f64::MIN_POSITIVE),
        ))
    };
    Some(json!({
        "consumer": found.case.consumer.to_string(),
        "core": found.case.core.to_string(),
        "limit": limit.to_string(),
        "told": found.case.told.to_string(),
        "pps": figures.packets_per_s.round(),
        "limit_p50": (!is_off(limit)).then(|| one_decimal(figures.limit_p50)),
        "inflight_mean": one_decimal(figures.in_flight_mean),
        "ping_us": { "p50": us(figures.ping_p50_ns), "p99": us(figures.ping_p99_ns) },
        "of_off": ten_thousandths(figures.of_off),
        "of_best": ten_thousandths(figures.of_off / found.best_of_off()),
        "over_least": over(|it| it.in_flight_mean),
        "ping_over_least": over(|it| it.ping_p99_ns),
        "rounds": found.rounds,
    }))
}

fn is_off(limit: &LimitName) -> bool {
    matches!(limit, LimitName::Rule { limit, .. } if limit.is_off())
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn ten_thousandths(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// What is wanted, and what each limit that learns gave; `None` without fixed limits to compare with.
fn summary(found: &[Found]) -> Option<Summary> {
    let rows: Vec<_> = found.iter().flat_map(verdicts).collect();
    (!rows.is_empty()).then_some(Summary {
        title: "Wanted: 98 % of the packets without a limit, and p99 of the ping at most 1.5 times that of the \
                least fixed limit that gives 99.9 % of what the best one gives",
        rows,
    })
}

fn verdicts(found: &Found) -> Vec<Value> {
    let Some(least) = found.least(ENOUGH) else {
        return Vec::new();
    };
    let rules = found.rules().filter(|limit| !is_off(limit));
    let verdict = |limit: &LimitName| {
        let figures = found.figures(limit)?;
        let ping = figures.ping_p99_ns / least.ping_p99_ns.max(1.0);
        Some(json!({
            "case": found.case.to_string(),
            "limit": limit.to_string(),
            "least": least.limit_p50,
            "of_off": ten_thousandths(figures.of_off),
            "ping_over_least": thousandths(ping),
            "holds": if figures.of_off >= LEAST_OF_OFF && ping <= MOST_PING { "yes" } else { "no" },
        }))
    };
    rules.filter_map(verdict).collect()
}
