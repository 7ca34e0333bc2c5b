//! The speed benchmark: S1 with and without the limit, then with 10, 100, 1,000 and 10,000 flows.
//!
//! `cargo run --release -p taut-sim --example speed [-- [--instructions] [FLOWS [off]]]`: what the
//! network did, and how fast it was simulated. Give FLOWS to run one case, in a process of its own.
//! With `--instructions` each case runs under valgrind's callgrind, which counts what it costs: the
//! same in every run of one compiler.

use std::process::{Command, ExitCode};
use std::time::Instant;

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_sim::s1;

/// The exit code of what cannot run here.
const CANNOT_RUN: u8 = 77;

/// Flows, and whether there is a limit.
const CASES: [(u32, bool); 5] = [
    (100, true),
    (100, false),
    (10, true),
    (1_000, true),
    (10_000, true),
];

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let counts = arguments
        .first()
        .is_some_and(|first| first == "--instructions");
    if counts {
        arguments.remove(0);
    }
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
    if counts {
        return count(&cases);
    }
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
    eprintln!("usage: speed [--instructions] [FLOWS [off]], FLOWS 1 to 10000");
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
        "{flows:>6} {name:>5} {:>9} {:>9} {:>5} {:>7.0} {:>7.1} {:>10} {:>9} {:>7.0} {:>10.0} {:>8} {:>7}",
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

/// The most memory that this process has had, in MB, so far: of the largest case yet.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = peak.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1000)
}

/// Processor time of this process outside of the kernel, in ms; known to 10 ms.
fn user_ms() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name that may contain anything but ends with the last parenthesis; the
    // 14th counts hundredths of a second, whatever the kernel's own clock.
    let ticks = stat.rsplit_once(')')?.1.split_whitespace().nth(11)?;
    Some(ticks.parse::<u64>().ok()? * 10)
}

/// Runs each case under callgrind, in a process of its own.
fn count(cases: &[(u32, bool)]) -> ExitCode {
    println!(
        "{:>6} {:>5} {:>9} {:>13} {:>12}",
        "flows", "limit", "packets", "instructions", "a packet"
    );
    for &(flows, limited) in cases {
        match count_case(flows, limited) {
            Ok((packets, instructions)) => println!(
                "{flows:>6} {:>5} {packets:>9} {instructions:>13} {:>12.1}",
                if limited { "on" } else { "off" },
                instructions as f64 / packets as f64
            ),
            Err(why) => {
                eprintln!("speed: {why}");
                return ExitCode::from(CANNOT_RUN);
            }
        }
    }
    ExitCode::SUCCESS
}

/// The packets of a case both ways, and its instructions with those of start and end.
fn count_case(flows: u32, limited: bool) -> Result<(u64, u64), String> {
    let own = std::env::current_exe().map_err(|error| format!("find this program: {error}"))?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .arg(flows.to_string());
    if !limited {
        valgrind.arg("off");
    }
    let output = valgrind.output().map_err(|error| {
        format!("valgrind counts the instructions, and could not be started: {error}")
    })?;
    let told = String::from_utf8_lossy(&output.stderr);
    let told_so = || format!("valgrind did not say what it counted: {told}");
    let counted = told.lines().find_map(|line| line.split_once("Collected :"));
    let instructions = counted.and_then(|(_, count)| count.trim().parse().ok());
    let table = String::from_utf8_lossy(&output.stdout);
    let row: Vec<&str> = table
        .lines()
        .last()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    let packets = |column: usize| row.get(column).and_then(|cell| cell.parse::<u64>().ok());
    let packets = packets(2).zip(packets(3)).map(|(there, back)| there + back);
    packets.zip(instructions).ok_or_else(told_so)
}
