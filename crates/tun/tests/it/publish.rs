//! Publishing the paths of a tunnel.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};

use taut_linux::publish::{Publisher, read};
use taut_path::{AnyLimit, Limit};
use taut_tun::Tunnel;

use crate::common::{directory, packet, until};

#[test]
fn published_path_has_bounds_and_comparable_bytes() {
    let directory = directory("path");
    let publisher = Publisher::open_in(&directory, "a test").expect("publishes");
    let limit = AnyLimit::dql();
    let max_limit = limit.config().max_limit;
    let tunnel: Tunnel<Vec<u8>> = Tunnel::builder().limit(limit).build().expect("tunnel");
    tunnel.publish(&publisher, "tun0").expect("published");
    let address = (Ipv4Addr::LOCALHOST, 0);
    let receiver = UdpSocket::bind(address).expect("socket");
    let to = receiver.local_addr().expect("address");
    let socket = UdpSocket::bind(address).expect("socket");
    let socket = tunnel.blocking_socket(socket).expect("limited");
    tunnel.push(packet(0, 1_000));
    let mut released = Vec::new();
    assert_eq!(tunnel.try_next_batch(&mut released, 10), 1);
    released.insert(0, vec![0; 148]); // A handshake: 208 bytes with the overhead.
    socket
        .send(released.drain(..).map(|packet| (packet, to)), None)
        .expect("sends");
    let metrics = || {
        let published = read(std::slice::from_ref(&directory));
        published.queues.first().map(|it| it.metrics)
    };
    until("completed", || {
        metrics().is_some_and(|it| it.completed_packets == 2)
    });
    let metrics = metrics().expect("published");
    assert_eq!((metrics.sent_packets, metrics.in_flight), (2, 0));
    assert_eq!(
        (metrics.sent_bytes, metrics.completed_bytes),
        (1_268, 1_268)
    );
    assert_eq!(metrics.limit_max, u64::from(max_limit));
    assert_eq!(metrics.hold_time_ns, 1_000_000_000);
    drop((tunnel, socket, publisher));
    let _ = fs::remove_dir_all(directory);
}

#[test]
fn too_many_paths_are_not_published() {
    let directory = directory("many");
    let publisher = Publisher::open_in(&directory, "a test").expect("publishes");
    let tunnel: Tunnel<Vec<u8>> = Tunnel::builder().paths(65).build().expect("tunnel");
    let error = tunnel.publish(&publisher, "tun0").expect_err("rejected");
    assert_eq!(
        error.to_string(),
        "65 paths; allowed: at most 64 can be published"
    );
    drop(publisher);
    let _ = fs::remove_dir_all(directory);
}
