//! The scenario of the speed benchmark has the results of the established simulator.

use taut_path::limit::{Dynamic, Fixed};
use taut_sim::s1::{self, S1};

/// Tolerance for the published results of S1: 2 %.
const TOLERANCE: f64 = 0.02;

fn assert_near(what: &str, found: f64, expected: f64) {
    let off = found / expected - 1.0;
    assert!(
        off.abs() <= TOLERANCE,
        "{what}: {found}, expected {expected} ({:+.2} %)",
        off * 100.0
    );
}

fn assert_figures(found: &S1, there: f64, back: f64, tps: f64, in_queue_bytes: f64) {
    let per_second = |count: u64| count as f64 * 1e9 / found.measured_ns as f64;
    assert_eq!(found.drops, 0);
    assert_near("packets there", found.packets_there as f64, there);
    assert_near("packets back", found.packets_back as f64, back);
    assert_near("transactions/s", per_second(found.transactions), tps);
    assert_near("Mbit/s", per_second(found.received_bytes * 8) / 1e6, 963.0);
    assert_near(
        "bytes in the device queue",
        found.in_flight_mean_bytes as f64,
        in_queue_bytes,
    );
}

#[test]
fn limit_leaves_two_packets_in_the_device_queue() {
    let found = s1::run(100, Dynamic::default()).unwrap();
    assert_figures(&found, 908_600.0, 487_500.0, 6_921.0, 4_102.0);
    // Little's law: a transaction takes the time of the bytes in the device queue at 125 MB/s, two
    // propagation delays, one packet in transmission, and the request itself.
    let seconds = found.in_flight_mean_bytes as f64 / 125e6 + 2.0 * 50e-6;
    let tps = found.transactions as f64 * 1e9 / found.measured_ns as f64;
    assert!((0.85..=1.0).contains(&(tps * seconds)), "{tps} x {seconds}");
}

#[test]
fn device_queue_is_full_without_limit() {
    let found = s1::run(100, Fixed::off()).unwrap();
    assert_figures(&found, 846_000.0, 423_700.0, 82.0, 1_512_763.0);
}

#[test]
fn segments_and_acknowledgements_are_separate_events() {
    let found = s1::run(10, Dynamic::default()).unwrap();
    // A packet has at least two events: one of its NIC and its arrival.
    let packets = found.packets_there + found.packets_back;
    assert!(
        found.events >= 2 * packets - 100,
        "{} events, {packets} packets",
        found.events
    );
}

#[test]
fn same_run_gives_the_same_results() {
    let run = || s1::run(10, Dynamic::default()).unwrap();
    assert_eq!(run(), run());
}
