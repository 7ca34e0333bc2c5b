//! Waiting packets, and their release.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;

use taut_path::AnyLimit;
use taut_tun::{Builder, Tunnel};

use crate::common::{packet, until};

/// A packet of which the living copies can be counted.
struct Counted {
    bytes: Vec<u8>,
    _living: Arc<()>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for Counted {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

fn tunnel(builder: Builder, limit_bytes: u32) -> Tunnel<Vec<u8>> {
    let limit = AnyLimit::bytes(limit_bytes);
    builder.limit(limit).build().expect("tunnel")
}

#[test]
fn flood_of_a_million_flows_is_bounded() {
    let tunnel: Tunnel<Counted> = Tunnel::builder().build().expect("tunnel");
    let living = Arc::new(());
    for flow in 0..1_000_000 {
        tunnel.push(Counted {
            bytes: packet(flow, 64),
            _living: Arc::clone(&living),
        });
    }
    let state = tunnel.snapshot(0);
    assert_eq!(state.backlog.packets, 1_000, "the limit of the discipline");
    assert_eq!(
        Arc::strong_count(&living) - 1,
        1_000,
        "payloads of dropped packets are freed"
    );
    assert_eq!(state.queue.enqueued_packets, 1_000_000);
    assert_eq!(state.queue.dropped_packets, 999_000);
    let mut released = Vec::new();
    tunnel.try_next_batch(&mut released, 2_000);
    assert!(
        !released.is_empty() && released.len() < 1_000,
        "{} released",
        released.len()
    );
    let state = tunnel.snapshot(0);
    assert_eq!(state.backlog.packets as usize + released.len(), 1_000);
    drop((tunnel, released));
    assert_eq!(Arc::strong_count(&living), 1);
}

#[test]
fn release_stops_at_the_limit() {
    let tunnel = tunnel(Tunnel::builder(), 5_000);
    (0..100).for_each(|flow| tunnel.push(packet(flow, 1_400)));
    let mut released = Vec::new();
    tunnel.try_next_batch(&mut released, 100);
    assert_eq!(released.len(), 4, "5,000 bytes and one packet of 1,460");
    assert_eq!(tunnel.snapshot(0).program_bytes, 4 * 1_460);
    assert_eq!(tunnel.snapshot(0).counters.times_blocked, 1);
}

#[test]
fn packet_that_arrives_without_room_is_blocked() {
    let tunnel = tunnel(Tunnel::builder(), 5_000);
    (0..4).for_each(|flow| tunnel.push(packet(flow, 1_400)));
    let mut released = Vec::new();
    assert_eq!(tunnel.try_next_batch(&mut released, 100), 4);
    assert_eq!(tunnel.snapshot(0).counters.times_blocked, 0);
    tunnel.push(packet(4, 1_400));
    tunnel.push(packet(5, 1_400));
    assert_eq!(tunnel.snapshot(0).counters.times_blocked, 1);
    assert_eq!(tunnel.try_next_batch(&mut released, 100), 0);
    assert_eq!(tunnel.snapshot(0).counters.times_blocked, 1, "counted once");
}

#[test]
#[should_panic(expected = "path is 2; allowed: 0 to 1")]
fn missing_path_is_named() {
    tunnel(Tunnel::builder().paths(2), 5_000).push_to(2, packet(0, 100));
}

#[test]
fn blocked_path_does_not_block_another() {
    let tunnel = tunnel(Tunnel::builder().paths(2), 3_000);
    (0..20).for_each(|flow| tunnel.push_to(0, packet(flow, 1_400)));
    let mut released = Vec::new();
    tunnel.try_next_batch(&mut released, 100);
    assert_eq!(released.len(), 3);
    (0..20).for_each(|flow| tunnel.push_to(1, packet(flow, 1_000)));
    released.clear();
    tunnel.try_next_batch(&mut released, 100);
    assert_eq!(released.len(), 3, "of the second path");
    assert!(released.iter().all(|packet| packet.len() == 1_000));
}

#[test]
fn paths_are_served_alternately() {
    let tunnel = tunnel(Tunnel::builder().paths(2), 1_000_000);
    (0..20).for_each(|flow| tunnel.push_to(0, packet(flow, 1_400)));
    (0..20).for_each(|flow| tunnel.push_to(1, packet(flow, 1_000)));
    let mut released = Vec::new();
    for number in 1..=20 {
        assert_eq!(tunnel.try_next_batch(&mut released, 1), 1, "{number}");
    }
    let of_first = released.iter().filter(|it| it.len() == 1_400).count();
    assert_eq!((released.len(), of_first), (20, 10));
}

#[test]
fn rejected_datagram_does_not_end_the_batch() {
    let tunnel = tunnel(Tunnel::builder(), 1_000_000);
    let address = (Ipv4Addr::LOCALHOST, 0);
    let receiver = UdpSocket::bind(address).expect("socket");
    let to = receiver.local_addr().expect("address");
    let socket = UdpSocket::bind(address).expect("socket");
    let socket = tunnel.blocking_socket(socket).expect("limited");
    for bytes in [1_000, 70_000, 1_200, 65_508, 800] {
        tunnel.push(packet(0, bytes));
    }
    let mut released = Vec::new();
    tunnel.try_next_batch(&mut released, 10);
    assert_eq!(released.len(), 5);
    let report = socket
        .send(released.iter().map(|packet| (packet, to)), None)
        .expect("sends");
    assert_eq!((report.sent, report.rejected), (3, 2));
    assert_eq!(report.last_errno, 90, "EMSGSIZE");
    let mut into = vec![0; 2_000];
    let received = [(); 3].map(|()| receiver.recv(&mut into).expect("receives"));
    assert_eq!(received, [1_000, 1_200, 800]);
    until("all departed", || {
        let state = tunnel.snapshot(0);
        (state.program_bytes, state.kernel_bytes) == (0, 0)
    });
    assert_eq!(tunnel.snapshot(0).counters.rejected_datagrams, 2);
}

#[test]
fn shaper_releases_at_its_rate() {
    let builder = Tunnel::builder().rate_bits_per_s(8_000);
    let tunnel = tunnel(builder, 1_000_000);
    (0..10).for_each(|flow| tunnel.push(packet(flow, 1_000)));
    let mut released = Vec::new();
    tunnel.try_next_batch(&mut released, 10);
    assert!(
        released.len() <= 2,
        "1,000 bytes a second: {} at once",
        released.len()
    );
    assert!(tunnel.qdisc().contains("rate"), "{}", tunnel.qdisc());
}

#[test]
fn invalid_settings_are_rejected_with_their_value() {
    let error = |builder: Builder| {
        let built = builder.build::<Vec<u8>>();
        built.expect_err("rejected").to_string()
    };
    let unknown = error(Tunnel::builder().qdisc("fq_codle"));
    assert!(
        unknown.contains("fq_codle") && unknown.contains("fq_codel"),
        "{unknown}"
    );
    let packets = "dql:packets".parse().expect("limit");
    assert!(error(Tunnel::builder().limit(packets)).contains("counts packets"));
    assert!(error(Tunnel::builder().paths(0)).contains("1 to 4096"));
    assert!(error(Tunnel::builder().paths(4_097)).contains("4097"));
    assert!(error(Tunnel::builder().overhead_bytes(65_536)).contains("0 to 65535"));
    for threshold_ns in [1, u64::MAX] {
        let error = error(Tunnel::builder().stall_threshold_ns(threshold_ns));
        assert!(error.contains(&threshold_ns.to_string()), "{error}");
    }
    assert!(error(Tunnel::builder().rate_bits_per_s(0)).contains("allowed: 1"));
}

#[test]
fn hundred_tunnels_in_one_process() {
    let address = (Ipv4Addr::LOCALHOST, 0);
    let receiver = UdpSocket::bind(address).expect("socket");
    let to = receiver.local_addr().expect("address");
    let tunnels = [(); 100].map(|()| {
        let tunnel = tunnel(Tunnel::builder(), 1_000_000);
        let socket = UdpSocket::bind(address).expect("socket");
        let socket = tunnel.blocking_socket(socket).expect("limited");
        (tunnel, socket)
    });
    for (tunnel, socket) in &tunnels {
        (0..3).for_each(|flow| tunnel.push(packet(flow, 100)));
        let mut released = Vec::new();
        tunnel.try_next_batch(&mut released, 10);
        let report = socket
            .send(released.iter().map(|packet| (packet, to)), None)
            .expect("sends");
        assert_eq!((report.sent, report.rejected), (3, 0));
    }
    for (tunnel, _) in &tunnels {
        until("all departed", || {
            tunnel.snapshot(0).counters.departed_datagrams == 3
        });
    }
    // Each drop ends a thread.
    drop(tunnels);
}
