//! The summary of a run, as JSON or text.

use std::process::ExitCode;

use serde_json::{Value, json};
use taut_linux::Port;
use taut_path::driver::CompletionStatus;
use taut_relay::{Direction, Source};
use taut_report::layout::fold;
use taut_report::stdout;

use super::options::Forward;

/// The version of the document.
const VERSION: u32 = 1;

/// Indentation of continuation lines.
const INDENT: usize = 4;

/// Prints the summary of both directions over `length_ns`.
pub fn print<S: Source>(
    options: &Forward,
    [there, back]: &[Direction<S>; 2],
    length_ns: u64,
) -> ExitCode {
    let (a, b) = (options.a.as_str(), options.b.as_str());
    if options.json {
        return stdout::print_json(&json!({
            "version": VERSION,
            "command": "forward",
            "taut_version": env!("CARGO_PKG_VERSION"),
            "qdisc": options.qdisc,
            "limit": options.limit.to_string(),
            "rate": options.rate.map(|rate| rate.to_string()),
            "ring_slots": options.ring,
            "coalesce_ns": options.coalesce.0,
            "duration_ms": length_ns / 1_000_000,
            "directions": [
                document(there, [a, b], length_ns),
                document(back, [b, a], length_ns),
            ],
        }));
    }
    let width = stdout::columns();
    let lines = [
        text(there, [a, b], length_ns),
        text(back, [b, a], length_ns),
    ];
    stdout::print(&lines.map(|line| fold(&line, INDENT, width)).concat())
}

fn per_second(number: u64, length_ns: u64) -> u64 {
    let scaled = u128::from(number) * 1_000_000_000 / u128::from(length_ns.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn document(direction: &Direction<impl Source>, [from, to]: [&str; 2], length_ns: u64) -> Value {
    let (account, port) = (direction.account(), direction.port());
    json!({
        "from": from,
        "to": to,
        "driver": port.driver(),
        "mode": port.mode(),
        "completions": port.completion_status().name(),
        // The last one, in its units; `null` without a limit.
        "limit_now": direction.limit(),
        "received_packets": account.received_packets,
        "received_bytes": account.received_bytes,
        "gso_packets": account.gso_packets,
        "segments": account.segments,
        "sent_packets": account.completed_packets(),
        "sent_bytes": account.completed_bytes(),
        "uncertain_packets": account.uncertain_packets(),
        "marked_packets": account.marked_packets,
        "dropped_packets": account.dropped_packets(),
        "unaccounted_packets": account.unaccounted_packets(),
        "pps": per_second(account.completed_packets(), length_ns),
        "bps": per_second(account.completed_bytes() * 8, length_ns),
    })
}

fn text(direction: &Direction<impl Source>, [from, to]: [&str; 2], length_ns: u64) -> String {
    let account = direction.account();
    let sent_packets = account.completed_packets();
    let mut text = format!("{from} -> {to}: {} received", account.received_packets);
    if account.gso_packets > 0 {
        let (gso_packets, segments) = (account.gso_packets, account.segments);
        text += &format!(" ({gso_packets} GSO packets, {segments} segments)");
    }
    text += &format!(", {sent_packets} sent");
    if account.marked_packets > 0 {
        text += &format!(" ({} marked)", account.marked_packets);
    }
    if account.uncertain_packets() > 0 {
        text += &format!(", {} uncertain", account.uncertain_packets());
    }
    let dropped = account.dropped_packets().iter();
    let dropped: Vec<String> = dropped
        .map(|(reason, packets)| format!("{packets} {reason}"))
        .collect();
    text += &match dropped.len() {
        0 => ", none dropped".to_owned(),
        _ => format!(", dropped: {}", dropped.join(", ")),
    };
    if account.unaccounted_packets() > 0 {
        text += &format!("; {} unaccounted for", account.unaccounted_packets());
    }
    let pps = per_second(sent_packets, length_ns);
    let bps = per_second(account.completed_bytes() * 8, length_ns);
    text += &format!("; {pps} packets/s, {bps} bit/s");
    text += &match (direction.port().completion_status(), direction.limit()) {
        (CompletionStatus::Early, _) => "; limit disabled: completions are early".to_owned(),
        (_, Some(limit)) => format!("; limit {limit}"),
        (_, None) => String::new(),
    };
    text
}
