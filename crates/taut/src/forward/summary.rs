//! The summary of a run, as JSON or text.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde::Serialize;
use taut_linux::Port;
use taut_relay::Direction;
use taut_relay::bridge::Bridged;
use taut_relay::interface::Interface;
use taut_report::layout::fold;
use taut_report::stdout;

use super::options::Forward;

/// The version of the document.
const VERSION: u32 = 1;

/// Indentation of continuation lines.
const INDENT: usize = 4;

/// The counts of one direction.
#[derive(Debug, Serialize)]
struct DirectionSummary {
    from: String,
    to: String,
    driver: &'static str,
    mode: &'static str,
    /// The status of the completions: `valid`, `early` or `unknown`.
    completions: &'static str,
    /// The last limit, in its units; `null` without a limit.
    limit_now: Option<u32>,
    received_packets: u64,
    received_bytes: u64,
    gso_packets: u64,
    segments: u64,
    sent_packets: u64,
    sent_bytes: u64,
    uncertain_packets: u64,
    marked_packets: u64,
    dropped_packets: BTreeMap<&'static str, u64>,
    /// Frames received but never finished, or finished but never received; always 0.
    unaccounted_packets: u64,
    pps: u64,
    bps: u64,
}

/// The document of one run.
#[derive(Debug, Serialize)]
pub struct Summary {
    version: u32,
    command: &'static str,
    taut_version: &'static str,
    qdisc: String,
    limit: String,
    rate: Option<String>,
    ring_slots: u32,
    coalesce_ns: u64,
    duration_ms: u64,
    directions: [DirectionSummary; 2],
}

impl DirectionSummary {
    fn of(
        direction: &Direction<Bridged<impl Interface>>,
        [from, to]: [&str; 2],
        length_ns: u64,
    ) -> Self {
        let (account, port) = (direction.account(), direction.port());
        let per_second = |number: u64| {
            let scaled = u128::from(number) * 1_000_000_000 / u128::from(length_ns.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            driver: port.driver(),
            mode: port.mode(),
            completions: port.completion_status().name(),
            limit_now: direction.limit(),
            received_packets: account.received_packets,
            received_bytes: account.received_bytes,
            gso_packets: account.gso_packets,
            segments: account.segments,
            sent_packets: account.completed_packets(),
            sent_bytes: account.completed_bytes(),
            uncertain_packets: account.uncertain_packets(),
            marked_packets: account.marked_packets,
            dropped_packets: account.dropped_packets().clone(),
            unaccounted_packets: account.unaccounted_packets(),
            pps: per_second(account.completed_packets()),
            bps: per_second(account.completed_bytes() * 8),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} -> {}: {} received",
            self.from, self.to, self.received_packets
        );
        if self.gso_packets > 0 {
            text += &format!(
                " ({} GSO packets, {} segments)",
                self.gso_packets, self.segments
            );
        }
        text += &format!(", {} sent", self.sent_packets);
        let marked =
            (self.marked_packets > 0).then(|| format!(" ({} marked)", self.marked_packets));
        text += &marked.unwrap_or_default();
        if self.uncertain_packets > 0 {
            text += &format!(", {} uncertain", self.uncertain_packets);
        }
        let dropped: Vec<String> = self
            .dropped_packets
            .iter()
            .map(|(reason, packets)| format!("{packets} {reason}"))
            .collect();
        text += &match dropped.len() {
            0 => ", none dropped".to_owned(),
            _ => format!(", dropped: {}", dropped.join(", ")),
        };
        if self.unaccounted_packets > 0 {
            text += &format!("; {} unaccounted for", self.unaccounted_packets);
        }
        text += &format!("; {} packets/s, {} bit/s", self.pps, self.bps);
        text += &match (self.completions, self.limit_now) {
            ("early", _) => "; limit disabled: completions are early".to_owned(),
            (_, Some(limit)) => format!("; limit {limit}"),
            (_, None) => String::new(),
        };
        text
    }
}

impl Summary {
    /// Returns the summary of `directions` over `length_ns`.
    pub fn new<I: Interface>(
        options: &Forward,
        [there, back]: &[Direction<Bridged<I>>; 2],
        length_ns: u64,
    ) -> Self {
        let (a, b) = (options.a.as_str(), options.b.as_str());
        Self {
            version: VERSION,
            command: "forward",
            taut_version: env!("CARGO_PKG_VERSION"),
            qdisc: options.qdisc.clone(),
            limit: options.limit.to_string(),
            rate: options.rate.map(|rate| rate.to_string()),
            ring_slots: options.ring,
            coalesce_ns: options.coalesce.0,
            duration_ms: length_ns / 1_000_000,
            directions: [
                DirectionSummary::of(there, [a, b], length_ns),
                DirectionSummary::of(back, [b, a], length_ns),
            ],
        }
    }

    /// Returns the number of packets that are unaccounted for.
    pub fn unaccounted_packets(&self) -> u64 {
        let directions = self.directions.iter();
        directions.map(|it| it.unaccounted_packets).sum()
    }

    /// Prints the summary.
    pub fn print(&self, as_json: bool) -> ExitCode {
        if as_json {
            return stdout::print_json(self);
        }
        let width = stdout::columns();
        let lines = self.directions.iter().map(DirectionSummary::text);
        let text: String = lines.map(|line| fold(&line, INDENT, width)).collect();
        stdout::print(&text)
    }
}
