//! The speed benchmark: S1 with and without the limit, then with 10, 100, 1,000 and 10,000 flows.
//!
//! `cargo run --release -p taut-sim --example speed [-- FLOWS [off]]` prints the traffic of the
//! network and the speed of its simulation. FLOWS selects a single case. `scripts/cost.sh` counts
//! the instructions of the first case with valgrind's callgrind, which are the same in every run of
//! one compiler.

use std::process::ExitCode;
use std::time::Instant;

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_sim::s1;

/// Number of flows, and whether there is a limit.
const CASES: [(u32, bool); 5] = [
    (100, true),
    (100, false),
    (10, true),
    (1_000, true),
    (10_000, true),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let one = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        [flows] => Some((flows, true)),
        [flows, "off"] => Some((flows, false)),
        _ => return usage(),
    };
    let cases = match one {
        None => CASES.to_vec(),
        Some((flows, limited)) => match flows.parse() {
            Ok(flows @ 1..=10_000) => vec![(flows, limited)],
            _ => return usage(),
        },
    };
    println!(
        "{:>6} {:>5} {:>9} {:>9} {:>5} {:>7} {:>7} {:>10} {:>9} {:>7} {:>10} {:>8} {:>7}",
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
        "peak MB",
        "user ms"
    );
    for (flows, limited) in cases {
        case(flows, limited);
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: speed [FLOWS [off]], FLOWS 1 to 10000");
    ExitCode::from(2)
}

fn case(flows: u32, limited: bool) {
    if limited {
        run(flows, "on", Dynamic::default())
    } else {
        run(flows, "off", Fixed::off())
    }
}

fn run<L: Limit + Clone>(flows: u32, name: &str, limit: L) {
    let (started, user_ms_before) = (Instant::now(), user_ms());
    let found = s1::run(flows, limit).expect("the benchmark's own settings are valid");
    let seconds = started.elapsed().as_secs_f64();
    let user_ms = user_ms().zip(user_ms_before).map(|(now, then)| now - then);
    let per_second = |count: u64| count as f64 * 1e9 / found.measured_ns as f64;
    let packets = found.packets_there + found.packets_back;
    println!(
        "{flows:>6} {name:>5} {:>9} {:>9} {:>5} {:>7.0} {:>7.1} {:>10} {:>9} {:>7.0} {:>10.0} \
         {:>8} {:>7}",
        found.packets_there,
        found.packets_back,
        found.drops,
        per_second(found.transactions),
        per_second(found.received_bytes * 8) / 1e6,
        found.in_flight_mean_bytes,
        found.events,
        seconds * 1e3,
        packets as f64 / seconds,
        or_dash(peak_mb()),
        or_dash(user_ms),
    );
}

fn or_dash(figure: Option<u64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

/// Returns the peak memory of this process so far, in MB.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = peak.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1000)
}

/// Returns the processor time of this process in user mode, in ms, with a resolution of 10 ms.
fn user_ms() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name that ends with the last parenthesis. The 14th field is in
    // hundredths of a second, independent of the kernel's clock.
    let ticks = stat.rsplit_once(')')?.1.split_whitespace().nth(11)?;
    Some(ticks.parse::<u64>().ok()? * 10)
}
