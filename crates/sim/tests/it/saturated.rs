//! The transmit queue and the emulated NIC with a saturating sender.

use crate::support::{Saturated, gso_packet, nic, packet, with_rule};
use taut_path::Packet;
use taut_sim::nic::{DescriptorRule, Framing, InterruptRule};
use taut_sim::single_queue_bench::Rule;

const GBIT: u64 = 1_000_000_000;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Longer than two hold times, after which the first ramp-up has decreased to the required limit.
const SETTLE_NS: u64 = 3 * S;

fn plain(frame: u32) -> Packet {
    packet(frame, 1_514)
}

/// Returns the link time of one packet, in ns, and its bytes as counted by the limit.
fn cost(make: fn(u32) -> Packet, rate_bits_per_s: u64) -> (f64, f64) {
    let packet = make(0);
    let bits = 8.0 * Framing::ETHERNET.packet_time(&packet).bytes as f64;
    let bytes = f64::from(packet.wire_bytes());
    drop(packet.into_frame());
    (bits * 1e9 / rate_bits_per_s as f64, bytes)
}

/// Returns twice the bytes of one completion interval: the rule converges to this or up to two
/// packets more.
fn twice_an_interval(make: fn(u32) -> Packet, rate_bits_per_s: u64, period_ns: u64) -> f64 {
    let (packet_ns, bytes) = cost(make, rate_bits_per_s);
    // A packet that takes longer than the period is an interval of its own.
    2.0 * bytes * (period_ns as f64).max(packet_ns) / packet_ns
}

struct Observed {
    limits: (u32, u32),
    peak: u32,
    utilisation: f64,
    starved: u64,
}

/// Runs until convergence, then measures for a second.
fn observe(rate_bits_per_s: u64, period_ns: u64, make: fn(u32) -> Packet) -> Observed {
    let nic = nic(rate_bits_per_s, InterruptRule::every(period_ns));
    let mut run = Saturated::new(&Rule::dql(), nic, make);
    run.advance(SETTLE_NS);
    run.forget();
    let (wire, starved) = (run.wire(), run.starved());
    run.advance(SETTLE_NS + S);
    let time_bytes = run.wire().time_bytes - wire.time_bytes;
    Observed {
        limits: run.limits,
        peak: run.peak,
        utilisation: 8.0 * time_bytes as f64 / rate_bits_per_s as f64,
        starved: run.starved() - starved,
    }
}

#[test]
fn dql_on_gigabit_converges_to_two_intervals() {
    let seen = observe(GBIT, 250 * US, plain);
    let low = twice_an_interval(plain, GBIT, 250 * US);
    assert!((61_500.0..61_550.0).contains(&low), "{low}");
    for bytes in [seen.limits.0, seen.limits.1, seen.peak] {
        let bytes = f64::from(bytes);
        assert!((low..=low + 2.0 * 1_514.0).contains(&bytes), "{bytes}");
    }
    assert!(seen.utilisation >= 0.999, "{}", seen.utilisation);
    assert_eq!(seen.starved, 0);
}

#[test]
fn documented_steady_state_is_exact() {
    assert_eq!(observe(GBIT, 100 * US, plain).limits, (25_738, 25_738));
}

#[test]
fn dql_converges_to_two_intervals_at_any_rate() {
    // Cases whose two intervals fit into the ring.
    let cases = [
        (GBIT / 100, [10 * US, 250 * US, MS, 10 * MS]),
        (GBIT / 10, [10 * US, 250 * US, MS, 10 * MS]),
        (GBIT, [10 * US, 50 * US, 250 * US, MS / 2]),
        (10 * GBIT, [10 * US, 50 * US, 100 * US, 250 * US]),
    ];
    for (rate, periods) in cases {
        for period_ns in periods {
            let seen = observe(rate, period_ns, plain);
            let low = twice_an_interval(plain, rate, period_ns);
            let case = format!("{rate} bit/s, {period_ns} ns: at least {low}");
            let peak = f64::from(seen.peak);
            assert!((low..=low + 3_028.0).contains(&peak), "{case}, peak {peak}");
            // Whole packets: bytes in flight can exceed the limit by one packet.
            let limits = (f64::from(seen.limits.0), f64::from(seen.limits.1));
            assert!(limits.0 >= low - 1_514.0, "{case}, limit {limits:?}");
            assert!(limits.1 <= low + 3_028.0, "{case}, limit {limits:?}");
            assert!(seen.utilisation >= 0.999, "{case}, {}", seen.utilisation);
            assert_eq!(seen.starved, 0, "{case}");
        }
    }
}

#[test]
fn two_or_three_gso_packets_are_in_flight() {
    let seen = observe(GBIT, 250 * US, gso_packet);
    let bytes = f64::from(seen.peak) / cost(gso_packet, GBIT).1;
    assert!((2.0..=3.0).contains(&bytes), "{bytes} packets");
    assert!(seen.utilisation >= 0.999, "{}", seen.utilisation);
    assert_eq!(seen.starved, 0);

    let seen = observe(10 * GBIT, 250 * US, gso_packet);
    let low = twice_an_interval(gso_packet, 10 * GBIT, 250 * US);
    let (_, bytes) = cost(gso_packet, 10 * GBIT);
    let peak = f64::from(seen.peak);
    assert!((low..=low + 2.0 * bytes).contains(&peak), "{peak}");
    assert_eq!(seen.starved, 0);
}

/// Returns the peak bytes in flight without a limit, in a full e1000 ring.
fn full_ring(make: fn(u32) -> Packet) -> u32 {
    let nic = with_rule(GBIT, InterruptRule::every(250 * US), DescriptorRule::E1000);
    let mut run = Saturated::new(&Rule::off(), nic, make);
    run.advance(S);
    run.forget();
    let before = run.wire();
    run.advance(2 * S);
    let utilisation = 8.0 * (run.wire().time_bytes - before.time_bytes) as f64 / 1e9;
    assert!(utilisation >= 0.999, "{utilisation}");
    assert!(run.queue.sender_counters().ring_stops > 0);
    run.peak
}

#[test]
fn unlimited_ring_fills_with_the_published_bytes() {
    let bytes = full_ring(plain);
    assert!((452_000..=455_000).contains(&bytes), "{bytes}");
    let bytes = full_ring(gso_packet);
    assert!((3_200_000..=3_600_000).contains(&bytes), "{bytes}");
}

#[test]
fn limit_follows_the_coalescing_interval() {
    // Interrupts for each packet, coalesced to 250 us: as with interrupts each 250 us.
    let rule = Rule {
        coalesce_ns: 250 * US,
        ..Rule::dql()
    };
    let mut run = Saturated::new(&rule, nic(GBIT, InterruptRule::every(0)), plain);
    run.advance(SETTLE_NS);
    run.forget();
    let before = run.wire();
    run.advance(SETTLE_NS + S);
    let low = twice_an_interval(plain, GBIT, 250 * US);
    let peak = f64::from(run.peak);
    assert!(
        (low..=low + 3_028.0).contains(&peak),
        "{peak}, at least {low}"
    );
    let utilisation = 8.0 * (run.wire().time_bytes - before.time_bytes) as f64 / 1e9;
    assert!(utilisation >= 0.999, "{utilisation}");
}

#[test]
fn limit_follows_a_link_rate_change() {
    let mut run = Saturated::new(
        &Rule::dql(),
        nic(GBIT, InterruptRule::every(250 * US)),
        plain,
    );
    let mut now_ns = 0;
    for rate in [GBIT, GBIT / 10, GBIT] {
        let nic = run.queue.device_mut();
        nic.set_rate(rate, now_ns).expect("not zero");
        now_ns += SETTLE_NS;
        run.advance(now_ns);
        run.forget();
        now_ns += S;
        run.advance(now_ns);
        let low = twice_an_interval(plain, rate, 250 * US);
        let peak = f64::from(run.peak);
        assert!((low..=low + 3_028.0).contains(&peak), "{rate}: {peak}");
    }
}
