//! The speed benchmark: S1 with and without the limit, then with 10, 1,000 and 10,000 flows.
//!
//! `cargo run --release -p taut-sim --example speed [-- FLOWS]` prints the traffic of the network
//! and the speed of its simulation. FLOWS selects a single case with the limit. `scripts/cost.sh`
//! counts the instructions of the case with 100 flows with valgrind's callgrind, which are the same
//! in every run of one compiler.

use std::process::ExitCode;
use std::time::Instant;

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_sim::s1;

fn main() -> ExitCode {
    let flows = std::env::args().nth(1).map(|flows| flows.parse());
    match flows {
        Some(Ok(flows @ 1..=10_000)) => {
            heading();
            run(flows, "on", Dynamic::default());
        }
        Some(_) => {
            eprintln!("usage: speed [FLOWS], FLOWS 1 to 10000");
            return ExitCode::from(2);
        }
        None => {
            heading();
            run(100, "on", Dynamic::default());
            run(100, "off", Fixed::off());
            for flows in [10, 1_000, 10_000] {
                run(flows, "on", Dynamic::default());
            }
        }
    }
    ExitCode::SUCCESS
}

fn heading() {
    println!(
        " flows limit     there      back drops trans/s  Mbit/s in queue B    events wall ms \
         packets/s"
    );
}

fn run<L: Limit + Clone>(flows: u32, name: &str, limit: L) {
    let started = Instant::now();
    let found = s1::run(flows, limit).expect("the benchmark's own settings are valid");
    let seconds = started.elapsed().as_secs_f64();
    let per_second = |count: u64| count as f64 * 1e9 / found.measured_ns as f64;
    println!(
        "{flows:>6} {name:>5} {:>9} {:>9} {:>5} {:>7.0} {:>7.1} {:>10} {:>9} {:>7.0} {:>10.0}",
        found.packets_there,
        found.packets_back,
        found.drops,
        per_second(found.transactions),
        per_second(found.received_bytes * 8) / 1e6,
        found.in_flight_mean_bytes,
        found.events,
        seconds * 1e3,
        (found.packets_there + found.packets_back) as f64 / seconds,
    );
}
