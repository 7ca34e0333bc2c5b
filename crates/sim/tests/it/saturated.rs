//! The transmit queue and the emulated NIC together, with a sender that never runs out.

use crate::support::{Saturated, nic, packet, super_packet, with_rule};
use taut_path::Packet;
use taut_sim::nic::{DescriptorRule, Framing, InterruptRule};
use taut_sim::single_queue_bench::Rule;

const GBIT: u64 = 1_000_000_000;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Longer than two hold times, so that the first ramp-up is cut back to what is needed.
const SETTLE_NS: u64 = 3 * S;

fn plain(frame: u32) -> Packet {
    packet(frame, 1_514)
}

/// Link time of one packet, in ns, and its bytes as the limit counts them.
fn cost(make: fn(u32) -> Packet, rate_bits_per_s: u64) -> (f64, f64) {
    let packet = make(0);
    let bits = 8.0 * Framing::ETHERNET.packet_time(&packet).bytes as f64;
    let bytes = f64::from(packet.wire_bytes());
    drop(packet.into_frame());
    (bits * 1e9 / rate_bits_per_s as f64, bytes)
}

/// Twice the bytes of one completion interval: what the rule settles at, or up to two packets more.
fn twice_an_interval(make: fn(u32) -> Packet, rate_bits_per_s: u64, period_ns: u64) -> f64 {
    let (packet_ns, bytes) = cost(make, rate_bits_per_s);
    // A packet that takes longer than the period is an interval by itself.
    2.0 * bytes * (period_ns as f64).max(packet_ns) / packet_ns
}

struct Observed {
    limits: (u32, u32),
    peak: u32,
    utilisation: f64,
    starved: u64,
}

/// Runs until it has settled, then observes for a second.
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
fn a_gigabit_link_settles_at_twice_an_interval() {
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
fn the_documented_steady_state_is_met_to_the_byte() {
    assert_eq!(observe(GBIT, 100 * US, plain).limits, (25_738, 25_738));
}

#[test]
fn every_rate_and_cadence_settles_at_twice_an_interval() {
    // Those whose two intervals fit the ring.
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
            // Whole packets: what is in flight may be one packet above the limit.
            let limits = (f64::from(seen.limits.0), f64::from(seen.limits.1));
            assert!(limits.0 >= low - 1_514.0, "{case}, limit {limits:?}");
            assert!(limits.1 <= low + 3_028.0, "{case}, limit {limits:?}");
            assert!(seen.utilisation >= 0.999, "{case}, {}", seen.utilisation);
            assert_eq!(seen.starved, 0, "{case}");
        }
    }
}

#[test]
fn super_packets_settle_at_two_or_three_in_flight() {
    let seen = observe(GBIT, 250 * US, super_packet);
    let bytes = f64::from(seen.peak) / cost(super_packet, GBIT).1;
    assert!((2.0..=3.0).contains(&bytes), "{bytes} packets");
    assert!(seen.utilisation >= 0.999, "{}", seen.utilisation);
    assert_eq!(seen.starved, 0);

    let seen = observe(10 * GBIT, 250 * US, super_packet);
    let low = twice_an_interval(super_packet, 10 * GBIT, 250 * US);
    let (_, bytes) = cost(super_packet, 10 * GBIT);
    let peak = f64::from(seen.peak);
    assert!((low..=low + 2.0 * bytes).contains(&peak), "{peak}");
    assert_eq!(seen.starved, 0);
}

/// Peak bytes in flight without a limit, in a full e1000 ring.
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
fn without_a_limit_the_ring_fills_with_what_was_published() {
    let bytes = full_ring(plain);
    assert!((452_000..=455_000).contains(&bytes), "{bytes}");
    let bytes = full_ring(super_packet);
    assert!((3_200_000..=3_600_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_cadence_makes_the_limit_follow_its_period() {
    // Interrupts for each packet, handed on every 250 us: as if the NIC interrupted every 250 us.
    let rule = Rule::dql_every(250 * US);
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
fn the_limit_follows_a_change_of_the_link_rate_by_itself() {
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
