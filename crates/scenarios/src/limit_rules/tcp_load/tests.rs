//! Tests of the tcp load.

use super::*;
use taut_sim::world::SERVER;

/// Maximum interrupt interval, in ns.
const MAX_NS: u64 = 250_000;
const BYTES_PER_US: u64 = 125;

fn load(seed: u64) -> TcpLoad {
    let times = Times {
        // The first overrun causes timeouts of 200 ms, which are over by then.
        warm_ns: 1_000_000_000,
        end_ns: 1_500_000_000,
    };
    TcpLoad::new(seed, times).unwrap()
}

#[test]
fn bytes_are_conserved_and_streams_have_losses() {
    let load = load(3);
    let ran = load.load.run(&Rule::dql()).unwrap();
    let seen = ran.seen(1.0);
    assert_eq!(seen.sent_packets, seen.freed_packets + seen.in_ring_packets);
    let drops = ran.world.dropped_packets(CLIENT);
    let resent: u64 = (0..STREAMS as u32)
        .map(|stream| ran.world.report(stream, CLIENT).tcp.retransmissions)
        .sum();
    // A drop is a GSO packet of at least one segment, and each is sent again.
    assert!(drops > 20 && resent >= drops / 2, "{drops}, {resent}");
    // Data that arrived crossed the wire, each byte with its share of the headers.
    let wire = ran.world.wire(CLIENT);
    let arrived_bytes = ran.world.arrived_bytes(SERVER);
    assert!(arrived_bytes * 1_538 <= wire.time_bytes * 1_448);
    let max_bytes = load.load.times.end_ns / 1_000 * BYTES_PER_US;
    assert!(wire.time_bytes <= max_bytes);
    // The ring contains the whole backlog; packets that left and are not reaped count separately.
    assert!(seen.mean_bytes < seen.in_flight_mean_bytes);
    // A request takes at least the propagation time, and its delay is that of the ring.
    let latency_ns = ran.world.latency_ns();
    assert!(latency_ns.min() * 1_001 >= IDLE_LATENCY_NS * 1_000);
    let ring_ns = (seen.limit_bytes + LARGEST_BYTES) * 1_000 / BYTES_PER_US;
    assert!(seen.urgent_delay_p99_ns <= ring_ns + MAX_NS, "{seen:?}");
}

#[test]
fn optimum_is_near_one_interval() {
    let load = load(1);
    let fixed_bytes = load.smallest_sufficient_limit().unwrap().unwrap();
    // The longest interval; a limit is exceeded by one GSO packet at most.
    let need_bytes = MAX_NS / 1_000 * BYTES_PER_US;
    let bytes = u64::from(fixed_bytes);
    assert!(bytes <= need_bytes + LARGEST_BYTES, "{bytes}");
    assert!(bytes + LARGEST_BYTES >= need_bytes, "{bytes}");
    let fixed = load.observe(&Rule::bytes(fixed_bytes)).unwrap();
    assert!(fixed.utilisation >= UTILISATION, "{}", fixed.utilisation);
    let off = load.observe_off().unwrap();
    assert_eq!(off.utilisation, 1.0);
    // A run that ends early has the same result as a complete one.
    for bytes in [0, fixed_bytes - STEP_BYTES, fixed_bytes, 2 * fixed_bytes] {
        let seen = load.observe(&Rule::bytes(bytes)).unwrap();
        let is_enough = seen.utilisation >= UTILISATION;
        assert_eq!(load.is_enough(bytes).expect("a run"), is_enough, "{bytes}");
    }
    assert!(off.mean_bytes > 2.0 * fixed.mean_bytes);
    for rule in [Rule::dql(), Rule::taut()] {
        let seen = load.observe(&rule).unwrap();
        let utilisation = seen.utilisation;
        assert!(
            (0.99..1.002).contains(&utilisation),
            "{rule}: {utilisation}"
        );
        assert!(seen.mean_bytes < off.mean_bytes, "{rule}");
        assert!(seen.urgent_delay_p50_ns < off.urgent_delay_p50_ns, "{rule}");
    }
    let starved = load.observe(&Rule::bytes(0)).unwrap();
    assert!(
        starved.utilisation < 0.9 && starved.dry_ns > 0,
        "{starved:?}"
    );
}

#[test]
fn seeds_differ_and_are_reproducible() {
    let mean_bytes = |seed| load(seed).observe(&Rule::bytes(30_000)).unwrap().mean_bytes;
    assert_eq!(mean_bytes(1), mean_bytes(1));
    assert_ne!(mean_bytes(1), mean_bytes(2));
}
