//! Tunnels over shaped links in network namespaces (root).

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use taut_linux::publish::{Publisher, read};
use taut_linux::{Tun, link};
use taut_path::AnyLimit;
use taut_tun::{Snapshot, Tunnel};
use tokio::runtime::Builder as Runtime;
use tokio::time;

use crate::common::{Link, PATIENCE, allowed, bind, directory, packet, until};

const RATE: u64 = 20_000_000;
/// The cap of the default limit, 5 ms at this rate, and one packet; or eight packets.
const MAX_BYTES: u32 = 20_000;

fn in_flight(state: &Snapshot) -> u32 {
    state.program_bytes + state.kernel_bytes
}

fn tunnel() -> Tunnel<Vec<u8>> {
    Tunnel::builder().build().expect("tunnel")
}

/// Waits until each packet was delivered or dropped, and nothing is in flight.
fn finish(tunnel: &Tunnel<Vec<u8>>) {
    until("nothing in flight", || {
        let state = tunnel.snapshot(0);
        (state.backlog.packets, in_flight(&state)) == (0, 0)
    });
    let state = tunnel.snapshot(0);
    let counters = state.counters;
    assert_eq!(
        state.queue.enqueued_packets,
        state.queue.dropped_packets + counters.released_packets
    );
    let left = counters.departed_datagrams + counters.rejected_datagrams + counters.expired_packets;
    assert!(
        left + counters.stale_datagrams >= counters.released_packets,
        "{state:?}"
    );
}

#[test]
fn threads_keep_the_queue_in_the_tunnel() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let (receiver, peer) = link.receiver();
    let tunnel = tunnel();
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    let (stopped, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut late_max = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut into = [0; 2_000];
            while !stopped.load(Ordering::Acquire) {
                if receiver.recv(&mut into).is_ok() {
                    received.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut batch = Vec::new();
        for number in 0..2_000 {
            (0..2).for_each(|flow| tunnel.push(packet(flow, 1_400)));
            tunnel.wait_next_batch(&mut batch, 32, Duration::from_millis(2));
            let sealed = batch
                .drain(..)
                .map(|packet| ([&packet[..], &[0; 32]].concat(), peer));
            socket.send(sealed, None).expect("sends");
            if number > 1_000 {
                late_max = late_max.max(in_flight(&tunnel.snapshot(0)));
            }
        }
        assert!(
            tunnel.snapshot(0).counters.times_blocked > 10,
            "the queue is here"
        );
        while tunnel.wait_next_batch(&mut batch, 32, Duration::from_secs(1)) {
            socket
                .send(batch.drain(..).map(|packet| (packet, peer)), None)
                .expect("sends");
        }
        stopped.store(true, Ordering::Release);
    });
    assert!(late_max <= MAX_BYTES, "{late_max} bytes in flight");
    finish(&tunnel);
    let counters = tunnel.snapshot(0).counters;
    assert!(counters.completion_batches > 10, "{counters:?}");
    assert!(received.into_inner() <= counters.departed_datagrams);
}

#[test]
fn cancelled_loop_loses_no_packet() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let (_receiver, peer) = link.receiver();
    let runtime = Runtime::new_current_thread()
        .enable_all()
        .build()
        .expect("runtime");
    runtime.block_on(async {
        let tunnel = tunnel();
        let socket = tunnel.socket(link.near_socket()).expect("socket");
        let (mut batch, mut pushed) = (Vec::new(), 0);
        let mut ticks = time::interval(Duration::from_micros(300));
        let mut into = [0; 2_000];
        while pushed < 3_000 {
            // Each iteration cancels two of the futures.
            tokio::select! {
                _ = ticks.tick() => {
                    (0..4).for_each(|flow| tunnel.push(packet(flow, 1_000)));
                    pushed += 4;
                }
                () = tunnel.next_batch(&mut batch, 8) => {
                    let sealed = batch.drain(..).map(|packet| (packet, peer));
                    let report = socket.send(sealed).await.expect("sends");
                    assert_eq!(report.rejected, 0);
                }
                received = socket.recv_from(&mut into) => panic!("{received:?}"),
            }
        }
        let drain = async {
            while tunnel.snapshot(0).backlog.packets > 0 {
                tunnel.next_batch(&mut batch, 8).await;
                socket
                    .send(batch.drain(..).map(|it| (it, peer)))
                    .await
                    .expect("sends");
            }
            while in_flight(&tunnel.snapshot(0)) > 0 {
                time::sleep(Duration::from_millis(1)).await;
            }
        };
        time::timeout(PATIENCE, drain).await.expect("drained");
        finish(&tunnel);
        assert_eq!(tunnel.snapshot(0).counters.expired_packets, 0);
    });
}

/// Sends what is released until `is_done`.
fn run(
    tunnel: &Tunnel<Vec<u8>>,
    socket: &taut_tun::BlockingTunSocket,
    peers: &[SocketAddr],
    mut is_done: impl FnMut(&Tunnel<Vec<u8>>) -> bool,
) {
    let mut batch = Vec::new();
    until("traffic", || {
        for path in 0..peers.len() {
            tunnel.push_to(path, packet(path as u32, 1_000 + path));
        }
        tunnel.wait_next_batch(&mut batch, 32, Duration::from_millis(1));
        let sealed = batch.drain(..).map(|packet| {
            let peer = peers[packet.len() - 1_000];
            (packet, peer)
        });
        socket.send(sealed, None).expect("sends");
        is_done(tunnel)
    });
}

#[test]
fn moved_peer_continues_with_an_empty_kernel() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(1_000_000);
    let (first, second) = (link.receiver(), link.receiver());
    let tunnel = tunnel();
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    tunnel.set_endpoint(0, first.1);
    run(&tunnel, &socket, &[first.1], |it| {
        it.snapshot(0).kernel_bytes > 0
    });
    tunnel.set_endpoint(0, second.1);
    assert_eq!(tunnel.snapshot(0).kernel_bytes, 0, "abandoned");
    run(&tunnel, &socket, &[second.1], |it| {
        let counters = it.snapshot(0).counters;
        counters.stale_datagrams > 0 && counters.departed_datagrams > 0
    });
}

#[test]
fn peers_of_one_socket_have_a_limit_each() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let (first, second) = (link.receiver(), link.receiver());
    let tunnel: Tunnel<Vec<u8>> = Tunnel::builder().paths(2).build().expect("tunnel");
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    tunnel.set_endpoint(0, first.1);
    tunnel.set_endpoint(1, second.1);
    run(&tunnel, &socket, &[first.1, second.1], |it| {
        (0..2).all(|path| it.snapshot(path).counters.departed_datagrams > 100)
    });
    // The other socket reports departures of the same paths.
    let other = tunnel.blocking_socket(link.near_socket()).expect("socket");
    drop(socket);
    let before = tunnel.snapshot(1).counters.departed_datagrams;
    run(&tunnel, &other, &[first.1, second.1], |it| {
        it.snapshot(1).counters.departed_datagrams > before + 100
    });
}

#[test]
fn stall_of_a_silent_link_is_reported_by_a_timer() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let (_receiver, peer) = link.receiver();
    let builder = Tunnel::builder().stall_threshold_ns(50_000_000);
    let tunnel: Tunnel<Vec<u8>> = builder
        .limit(AnyLimit::bytes(20_000))
        .build()
        .expect("tunnel");
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    run(&tunnel, &socket, &[peer], |it| {
        it.snapshot(0).counters.departed_datagrams > 50
    });
    let shaper = taut_linux::link::RootQdisc::Tbf {
        rate_bits_per_s: 8,
        burst_bytes: 2_000,
        limit_bytes: 1 << 20,
    };
    link::set_root_qdisc(&link.near, "near", shaper).expect("shaper");
    run(&tunnel, &socket, &[peer], |it| {
        it.snapshot(0).kernel_bytes > 15_000
    });
    // No call from here on: a thread of the socket detects it.
    until("a stall", || tunnel.snapshot(0).stall.is_some());
    let stall = tunnel.snapshot(0).stall.expect("stalled");
    assert!(stall.bytes > 0 && tunnel.snapshot(0).counters.stalls > 0);
}

#[test]
fn timeout_ends_a_send_on_a_stalled_link() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(8);
    let (_receiver, peer) = link.receiver();
    let directory = directory("timeout");
    let publisher = Publisher::open_in(&directory, "a test").expect("publishes");
    let tunnel = tunnel();
    tunnel.publish(&publisher, "tun0").expect("published");
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    let mut sent = 0;
    for _ in 0..4 {
        let items = (0..5_000).map(|_| ([0; 1_000], peer));
        let report = socket
            .send(items, Some(Duration::from_millis(1)))
            .expect("sends");
        assert!(report.unsent > 0, "the send buffer is full: {report:?}");
        assert_eq!(report.sent + report.rejected + report.unsent, 5_000);
        sent += report.sent as u64;
    }
    // No packet was released: each datagram is unmatched, and the others do not count.
    thread::sleep(Duration::from_millis(50));
    let state = tunnel.snapshot(0);
    let counters = state.counters;
    let sent_bytes = u64::from(state.kernel_bytes) + counters.departed_bytes;
    assert_eq!(sent_bytes, sent * 1_060);
    assert_eq!(
        (counters.unmatched_datagrams, counters.unmatched_bytes),
        (sent, sent_bytes)
    );
    assert_eq!((counters.expired_packets, state.program_bytes), (0, 0));
    until("published", || {
        let published = read(std::slice::from_ref(&directory));
        let totals = published.queues.first().map(|it| it.metrics);
        totals.is_some_and(|it| {
            (it.sent_packets, it.sent_bytes) == (sent, sent_bytes)
                && it.in_flight == sent_bytes - it.completed_bytes
        })
    });
    drop((tunnel, socket, publisher));
    let _ = fs::remove_dir_all(directory);
}

#[test]
fn packets_above_the_mtu_and_a_lost_link_do_not_hang() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let (_receiver, peer) = link.receiver();
    let tunnel = tunnel();
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    for _ in 0..20 {
        tunnel.push(packet(0, 4_000)); // In three fragments.
    }
    let mut batch = Vec::new();
    until("fragments", || {
        tunnel.wait_next_batch(&mut batch, 8, Duration::from_millis(1));
        let report = socket
            .send(batch.drain(..).map(|it| (it, peer)), None)
            .expect("sends");
        assert_eq!(report.rejected, 0);
        tunnel.snapshot(0).backlog.packets == 0
    });
    finish(&tunnel);
    link::delete(&link.near, "near").expect("deleted");
    (0..50).for_each(|_| tunnel.push(packet(0, 1_000)));
    let mut rejected = 0;
    until("rejections", || {
        tunnel.wait_next_batch(&mut batch, 8, Duration::from_millis(1));
        let report = socket
            .send(batch.drain(..).map(|it| (it, peer)), None)
            .expect("sends");
        rejected += report.rejected;
        tunnel.snapshot(0).backlog.packets == 0
    });
    assert_eq!(rejected, 50);
    finish(&tunnel);
}

#[test]
fn unsent_packets_expire_by_a_timer() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let tunnel = tunnel();
    let _socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    (0..100).for_each(|flow| tunnel.push(packet(flow, 1_400)));
    let mut dropped = Vec::new();
    // The program has no session: it drops every packet.
    until("released twice", || {
        tunnel.wait_next_batch(&mut dropped, 32, Duration::from_millis(1));
        dropped.len() > 6
    });
    until("expired", || tunnel.snapshot(0).program_bytes == 0);
    let counters = tunnel.snapshot(0).counters;
    assert_eq!(counters.expired_packets, dropped.len() as u64);
}

#[test]
fn kernel_traffic_of_a_tun_device_waits_in_the_tunnel() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(RATE);
    let tun = Tun::open(&link.near, "tun0", 1_400).expect("tun");
    assert!(!tun.has_backpressure(), "no released kernel offers it");
    let inner = [10, 1, 0, 1].into();
    link::add_address(&link.near, "tun0", inner, 24).expect("address");
    link::set_up(&link.near, "tun0").expect("up");
    let (receiver, peer) = link.receiver();
    let tunnel = tunnel();
    let socket = tunnel.blocking_socket(link.near_socket()).expect("socket");
    let source = bind(&link.near, inner);
    let (mut packet, mut batch, mut seen) = ([0; 2_000], Vec::new(), 0);
    for _ in 0..300 {
        for _ in 0..4 {
            source.send_to(&[7; 1_200], "10.1.0.2:9").expect("sends");
        }
        while let Some(bytes) = tun.read(&mut packet).expect("reads") {
            seen += 1;
            tunnel.push(packet[..bytes].to_vec());
        }
        tunnel.try_next_batch(&mut batch, 32);
        socket
            .send(batch.drain(..).map(|it| (it, peer)), None)
            .expect("sends");
    }
    assert_eq!(seen, 1_200);
    let state = tunnel.snapshot(0);
    // A late loop might find an empty queue, but it was blocked before.
    assert!(state.counters.times_blocked > 0, "{state:?}");
    // The limit of the first departures is larger: the rate is still unknown.
    assert!(
        in_flight(&state) <= state.limit.max(MAX_BYTES) + 1_500,
        "{state:?}"
    );
    let bytes = receiver.recv(&mut packet).expect("receives");
    assert_eq!((bytes, packet[0] >> 4), (1_228, 4), "an IPv4 packet");
    // The device is removed: nothing waits for it, and the tunnel continues.
    link::delete(&link.near, "tun0").expect("deleted");
    assert!(tun.read(&mut packet).is_err());
    until("drained", || {
        tunnel.wait_next_batch(&mut batch, 32, Duration::from_millis(1));
        socket
            .send(batch.drain(..).map(|it| (it, peer)), None)
            .expect("sends");
        tunnel.snapshot(0).backlog.packets == 0
    });
    finish(&tunnel);
}
