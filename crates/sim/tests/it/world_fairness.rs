//! Fairness of connections that share a queue.

use crate::world_support::{MS, SECOND, bulk, config, connection, with_discipline};
use taut_path::qdisc;
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, SERVER, World};

const RATE: u64 = 100_000_000;

/// Returns the ratio of received bytes of a connection with large segments to one with small
/// segments.
fn advantage_of_large_segments(discipline: &str) -> f64 {
    let by_name = |_| qdisc::by_name(discipline).expect("a discipline");
    let mut world = with_discipline(&config(RATE, MS), by_name, || ());
    for mss_bytes in [1_448, 362] {
        let tcp = TcpConfig {
            mss_bytes,
            receive_buffer_bytes: 4 << 20,
            ..TcpConfig::default()
        };
        world.connect(&connection(tcp), bulk(4 << 20), App::Sink, 0);
    }
    world.run_until(20 * SECOND).expect("no queue goes wrong");
    received_bytes(&world, 0) as f64 / received_bytes(&world, 1) as f64
}

fn received_bytes(world: &World<()>, connection: u32) -> u64 {
    world.report(connection, SERVER).received_bytes
}

#[test]
fn fair_queueing_is_fairer_than_fifo() {
    // On a short path CUBIC adds about a segment per round trip, so the connection with larger
    // segments grows faster.
    let (fifo, fair) = (
        advantage_of_large_segments("pfifo limit 30"),
        advantage_of_large_segments("fq_codel"),
    );
    // Headers are a larger part of small segments.
    let payload_share = 1.13;
    assert!(fifo > 1.3 * payload_share, "{fifo}, {fair}");
    assert!((0.9..1.1 * payload_share).contains(&fair), "{fifo}, {fair}");
}

#[test]
fn streams_fill_the_link_and_retransmit_drops() {
    let fifo = |_| qdisc::by_name("pfifo limit 100").expect("a discipline");
    let mut world = with_discipline(&config(RATE, MS), fifo, || ());
    let tcp = TcpConfig {
        receive_buffer_bytes: 4 << 20,
        ..TcpConfig::default()
    };
    for _ in 0..8 {
        world.connect(&connection(tcp), bulk(4 << 20), App::Sink, 0);
    }
    let received = |world: &World<()>| (0..8).map(|it| received_bytes(world, it)).sum::<u64>();
    world.run_until(2 * SECOND).expect("no queue goes wrong");
    let before = received(&world);
    world.run_until(6 * SECOND).expect("no queue goes wrong");
    let payload_bits_per_s = (received(&world) - before) * 8 / 4;
    let full = RATE * 1_448 / 1_514;
    // Bytes that came out of order before the measured time are read within it.
    let allowed = full * 99 / 100..full * 1_005 / 1_000;
    assert!(
        allowed.contains(&payload_bits_per_s),
        "{payload_bits_per_s}"
    );
    let dropped = world.dropped_packets(0);
    let sent_again: u64 = (0..8)
        .map(|it| world.report(it, 0).tcp.retransmissions)
        .sum();
    assert!(
        dropped > 0 && sent_again >= dropped * 9 / 10,
        "{dropped}, {sent_again}"
    );
    assert!((0..8).all(|it| received_bytes(&world, it) > 1 << 20));
}
