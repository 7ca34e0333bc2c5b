//! Compares the polling consumer with closed forms of its costs.

use taut_path::AnyLimit;
use taut_sim::consumer::{ConsumerConfig, ConsumerReport, FixedLimits, Notify, observe};

const MS: u64 = 1_000_000;

/// Values of `shared_core`.
const SHARED: bool = true;
const SEPARATE: bool = false;

fn config(shared_core: bool, consumer_ns: u64, notify: Notify) -> ConsumerConfig {
    ConsumerConfig {
        shared_core,
        consumer_ns,
        sender_ns: 1_000,
        switch_ns: 500,
        wake_ns: 300,
        ring: 256,
        poll: 64,
        notify,
        units: 1,
        ping_ns: MS,
        seed: 1,
        warm_ns: 100 * MS,
        end_ns: 1_100 * MS,
    }
}

fn run(config: &ConsumerConfig, limit: &str) -> ConsumerReport {
    let limit: AnyLimit = limit.parse().expect("a limit");
    let seen = observe(config, limit).expect("a run");
    assert!(seen.queued >= seen.finished && seen.finished >= seen.reported);
    let in_ring = seen.queued - seen.finished;
    assert!(in_ring <= u64::from(config.ring), "{in_ring}");
    seen
}

/// Returns packets per second for cycles of `packets` on a shared core.
fn shared_cycles(config: &ConsumerConfig, packets: f64) -> f64 {
    let packet_ns = (config.consumer_ns + config.sender_ns) as f64;
    1e9 / (packet_ns + 2.0 * config.switch_ns as f64 / packets)
}

#[test]
fn shared_core_loses_only_the_switches() {
    for consumer_ns in [800, 100_000] {
        for notify in [Notify::Packet, Notify::Poll] {
            let config = config(SHARED, consumer_ns, notify);
            // A limit is exceeded by one packet, and a poll ends at its budget.
            for (limit, packets) in [("1", 2.0), ("8", 9.0), ("63", 64.0), ("200", 64.0)] {
                let seen = run(&config, limit);
                let expected = shared_cycles(&config, packets);
                let off = seen.packets_per_s / expected - 1.0;
                assert!(
                    off.abs() < 1e-6,
                    "{consumer_ns} ns, {notify:?}, {limit}: {off}"
                );
            }
        }
    }
}

#[test]
fn slower_core_limits_two_cores() {
    let config = config(SEPARATE, 100_000, Notify::Poll);
    let seen = run(&config, "200");
    assert!((seen.packets_per_s / 10_000.0 - 1.0).abs() < 1e-4);
    // With one packet in flight, each takes a wake and a start in each direction.
    let one = run(&config, "1p");
    let cycle_ns = 100_000 + 2 * (300 + 500);
    assert!((one.packets_per_s / (1e9 / cycle_ns as f64) - 1.0).abs() < 1e-4);
    assert!(
        (0.9..=1.0).contains(&one.in_flight_mean),
        "{}",
        one.in_flight_mean
    );
}

#[test]
fn ping_without_limit_waits_for_the_ring() {
    let config = config(SHARED, 100_000, Notify::Packet);
    let seen = run(&config, "off");
    let ring_ms = seen.ping_ns.max() as f64 / 1e6;
    assert!((25.0..26.5).contains(&ring_ms), "{ring_ms}");
    let short = run(&config, "2");
    assert!(short.ping_ns.max() < 500_000, "{}", short.ping_ns.max());
}

#[test]
fn coalesced_packets_are_reported_after_time_or_limit() {
    let config = ConsumerConfig {
        poll: 4,
        ..config(SHARED, 800, Notify::After(MS))
    };
    // The bytes in flight exceed the limit by one packet, which triggers the report, whether or not
    // a poll ended.
    for (limit, packets) in [("1", 2.0), ("8", 9.0)] {
        let expected = shared_cycles(&config, packets);
        let seen = run(&config, limit).packets_per_s;
        assert!((seen / expected - 1.0).abs() < 1e-6, "{limit}: {seen}");
    }
    // A report of two packets each 2 ms, after which the sender refills four: 9 in flight, then 7.
    // If it reported all nine, 9 would always be in flight.
    let slow = ConsumerConfig {
        consumer_ns: MS,
        ..config
    };
    let seen = run(&slow, "8");
    assert!(
        (7.9..8.1).contains(&seen.in_flight_mean),
        "{}",
        seen.in_flight_mean
    );
}

#[test]
fn smallest_fixed_limit_follows_from_switch_cost() {
    for (consumer_ns, switch_ns, of_best) in [
        (100_000, 500, [8, 1]),
        (100_000, 4_000, [35, 6]),
        (800, 500, [57, 29]),
    ] {
        let config = ConsumerConfig {
            switch_ns,
            ..config(SHARED, consumer_ns, Notify::Packet)
        };
        let fixed = FixedLimits::new(&config).expect("runs");
        assert!((fixed.best() / shared_cycles(&config, 64.0) - 1.0).abs() < 1e-6);
        let found = [fixed.smallest(0.999), fixed.smallest(0.99)];
        assert!(
            found[0] == of_best[0] && found[1].abs_diff(of_best[1]) <= 1,
            "{found:?}"
        );
    }
}

#[test]
fn same_seed_gives_the_same_run() {
    let config = config(SEPARATE, 1_800, Notify::After(100_000));
    let of_seed = |seed| {
        let seen = run(&ConsumerConfig { seed, ..config }, "taut");
        (
            seen.queued,
            seen.ping_ns.len(),
            seen.ping_ns.value_at_quantile(0.9),
        )
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1).1, of_seed(2).1);
}

#[test]
fn taut_finds_sufficiently_long_cycles() {
    let config = ConsumerConfig {
        switch_ns: 4_000,
        ..config(SHARED, 800, Notify::Poll)
    };
    let share = run(&config, "taut").packets_per_s / shared_cycles(&config, 64.0);
    assert!(share > 0.98, "{share}");
}

#[test]
fn only_pings_of_the_measured_time_count() {
    let config = ConsumerConfig {
        warm_ns: 900 * MS,
        ..config(SHARED, 100_000, Notify::Poll)
    };
    // One each 1 ms on average, of 200 ms: six deviations are 85.
    let pings = run(&config, "8").ping_ns.len();
    assert!((115..285).contains(&pings), "{pings}");
}

#[test]
fn each_wake_of_the_sender_has_a_cost() {
    let config = config(SEPARATE, 2_000, Notify::Packet);
    // The sender is back and asleep again before the next packet is finished.
    let seen = run(&config, "8p").packets_per_s;
    let expected = 1e9 / (2_000.0 + 300.0);
    assert!((seen / expected - 1.0).abs() < 1e-3, "{seen}");
}
