//! The speed benchmark: S1 with and without the limit, then with 10, 100, 1,000 and 10,000 flows.
//!
//! `cargo run --release -p taut-sim --example speed [-- FLOWS [off]]`: what the network did, and how
//! fast it was simulated. Give FLOWS to run one case, in a process of its own.

use std::time::Instant;

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_sim::s1;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let one = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        [flows] => Some((flows, true)),
        [flows, "off"] => Some((flows, false)),
        _ => usage(),
    };
    println!(
        "{:>6} {:>5} {:>9} {:>9} {:>5} {:>7} {:>7} {:>10} {:>9} {:>7} {:>10} {:>8}",
        "flows",
        "limit",
        "there",
        "back",
        "drops",
        "trans/s",
        "Mbit/s",
        "in queue B",
        "events",
        "wall ms",
        "packets/s",
        "peak MB"
    );
    match one {
        Some((flows, limited)) => match flows.parse() {
            Ok(flows @ 1..=10_000) => case(flows, limited),
            _ => usage(),
        },
        None => {
            for (flows, limited) in [
                (100, true),
                (100, false),
                (10, true),
                (1_000, true),
                (10_000, true),
            ] {
                case(flows, limited);
            }
        }
    }
}

fn usage() -> ! {
    eprintln!("usage: speed [FLOWS [off]], FLOWS 1 to 10000");
    std::process::exit(2);
}

fn case(flows: u32, limited: bool) {
    if limited {
        run(flows, "on", Dynamic::default())
    } else {
        run(flows, "off", Fixed::off())
    }
}

fn run<L: Limit + Clone>(flows: u32, name: &str, limit: L) {
    let started = Instant::now();
    let found = s1::run(flows, limit).expect("the benchmark's own settings are valid");
    let seconds = started.elapsed().as_secs_f64();
    let per_second = |count: u64| count as f64 * 1e9 / found.measured_ns as f64;
    let packets = found.packets_there + found.packets_back;
    println!(
        "{flows:>6} {name:>5} {:>9} {:>9} {:>5} {:>7.0} {:>7.1} {:>10} {:>9} {:>7.0} {:>10.0} {:>8}",
        found.packets_there,
        found.packets_back,
        found.drops,
        per_second(found.transactions),
        per_second(found.received_bytes * 8) / 1e6,
        found.in_flight_mean_bytes,
        found.events,
        seconds * 1e3,
        packets as f64 / seconds,
        peak_mb(),
    );
}

/// The most memory that this process has had, in MB, so far: of the largest case yet.
fn peak_mb() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or_else(
        || "-".to_owned(),
        |kilobytes| (kilobytes / 1000).to_string(),
    )
}
