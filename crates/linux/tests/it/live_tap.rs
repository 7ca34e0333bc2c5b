//! TAP devices: frames pass in both directions, GSO packets only if they were requested.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use crate::common::{LEFT_MAC, PATIENCE, RIGHT, Taps, allowed};
use taut_linux::{
    NetNs, Tap, TapConfig, Tun, VirtioNetHeader, WriteOutcome, errno, link, poll, sched,
};

/// Large enough for TCP to build GSO packets if they are enabled.
const TRANSFER_BYTES: usize = 4 << 20;

#[test]
fn datagrams_pass_in_both_directions() {
    if !allowed() {
        return;
    }
    let taps = Taps::new(TapConfig::default());
    let wire = taps.forward();
    let server = taps
        .right_ns
        .run(|| UdpSocket::bind((RIGHT, 7)))
        .expect("enters")
        .expect("binds");
    let client = taps
        .left_ns
        .run(|| UdpSocket::bind("10.0.0.1:0"))
        .expect("enters")
        .expect("binds");
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(PATIENCE)).expect("sets");
    }
    let mut buffer = [0; 2000];
    for length in (0..=1472).step_by(64) {
        let question: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
        client.send_to(&question, (RIGHT, 7)).expect("sends");
        let (bytes, from) = server.recv_from(&mut buffer).expect("receives");
        server.send_to(&buffer[..bytes], from).expect("answers");
        let bytes = client.recv(&mut buffer).expect("receives");
        assert_eq!(&buffer[..bytes], &question);
    }
    assert_eq!(wire.counts.refused.load(Ordering::Relaxed), 0);
}

/// Sends over TCP from left to right through the wire and compares every byte.
fn transfer(taps: &Taps) {
    let listener = taps
        .right_ns
        .run(|| TcpListener::bind((RIGHT, 80)))
        .expect("enters")
        .expect("binds");
    let sender = std::thread::spawn({
        let ns = taps.left_ns.clone();
        move || {
            let connect = || TcpStream::connect_timeout(&(RIGHT, 80).into(), PATIENCE);
            let mut stream = ns.run(connect).expect("enters").expect("connects");
            stream.set_write_timeout(Some(PATIENCE)).expect("sets");
            let data: Vec<u8> = (0..TRANSFER_BYTES).map(|at| (at / 251) as u8).collect();
            stream.write_all(&data).expect("sends");
        }
    });
    let (mut stream, _) = listener.accept().expect("accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("sets");
    let mut received = Vec::with_capacity(TRANSFER_BYTES);
    stream.read_to_end(&mut received).expect("receives");
    sender.join().expect("sender");
    assert_eq!(received.len(), TRANSFER_BYTES);
    assert!(
        received
            .iter()
            .enumerate()
            .all(|(at, &byte)| byte == (at / 251) as u8)
    );
}

#[test]
fn with_segmentation_offload_tcp_sends_gso_packets() {
    if !allowed() {
        return;
    }
    let taps = Taps::new(TapConfig {
        segmentation_offload: true,
        ..TapConfig::default()
    });
    let wire = taps.forward();
    transfer(&taps);
    let gso_packets = wire.counts.gso_packets.load(Ordering::Relaxed);
    assert!(gso_packets > 10, "{gso_packets} GSO packets");
    assert_eq!(
        wire.counts.with_segmentation.load(Ordering::Relaxed),
        gso_packets
    );
}

#[test]
fn no_gso_packets_without_segmentation_offload() {
    if !allowed() {
        return;
    }
    for checksum_offload in [true, false] {
        let taps = Taps::new(TapConfig {
            checksum_offload,
            ..TapConfig::default()
        });
        let wire = taps.forward();
        transfer(&taps);
        assert!(wire.counts.frames.load(Ordering::Relaxed) >= (TRANSFER_BYTES / 1460) as u64);
        assert_eq!(wire.counts.longest_bytes.load(Ordering::Relaxed), 1514);
    }
}

#[test]
fn refusals_are_values() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let config = TapConfig {
        mac: Some(LEFT_MAC),
        mtu_bytes: 9000,
        ..TapConfig::default()
    };
    let tap = Tap::open(&ns, "tap", config).expect("opens");
    let taken = Tap::open(&ns, "tap", config).expect_err("taken");
    assert_eq!(errno(&taken), Some(libc::EBUSY), "{taken}");
    let frame = [0u8; VirtioNetHeader::BYTES + 60];
    assert_eq!(tap.write(&frame).expect("writes"), WriteOutcome::Rejected);
    link::set_up(&ns, "tap").expect("up");
    assert_eq!(tap.write(&frame).expect("writes"), WriteOutcome::Accepted);
    assert_eq!(tap.write(&[0; 3]).expect("writes"), WriteOutcome::Rejected);
    assert_eq!(tap.write(&[]).expect("writes"), WriteOutcome::Rejected);
    assert!(
        tap.read(&mut [0; 1500]).is_err(),
        "shorter than the device's frames"
    );
    let mut buffer = vec![0; tap.read_limit_bytes()];
    while tap.read(&mut buffer).expect("reads").is_some() {}
    assert_eq!(tap.read(&mut buffer).expect("reads"), None);
    assert_eq!(
        link::statistics(&ns, "tap").expect("counters").rx_packets,
        1
    );
    assert!(
        Tap::open(
            &ns,
            "tap2",
            TapConfig {
                mtu_bytes: 1,
                ..config
            }
        )
        .is_err()
    );
    assert!(
        link::index(&ns, "tap2").is_err(),
        "what failed left nothing"
    );
    drop(tap);
    assert!(
        link::index(&ns, "tap").is_err(),
        "it goes with its descriptor"
    );
}

#[test]
fn a_full_queue_drops_and_counts() {
    if !allowed() {
        return;
    }
    let taps = Taps::new(TapConfig {
        tx_queue_packets: 5,
        ..TapConfig::default()
    });
    let client = taps
        .left_ns
        .run(|| UdpSocket::bind("10.0.0.1:0"))
        .expect("enters")
        .expect("binds");
    for _ in 0..20 {
        client
            .send_to(&[0; 100], (RIGHT, 7))
            .expect("the sender reaches nothing");
    }
    let ready = poll::wait(&[taps.left.as_fd()], Some(sched::monotonic_ns())).expect("looks");
    assert_eq!(ready, [true]);
    let mut buffer = vec![0; taps.left.read_limit_bytes()];
    let mut waiting = 0;
    while taps.left.read(&mut buffer).expect("reads").is_some() {
        waiting += 1;
    }
    let counted = link::statistics(&taps.left_ns, "left").expect("counters");
    assert_eq!((waiting, counted.tx_dropped), (5, 15));
}

#[test]
fn tun_rejects_a_short_buffer_and_names_the_device() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let tun = Tun::open(&ns, "tun0", 1_400).expect("opens");
    let error = tun.read(&mut [0; 1_399]).expect_err("would truncate");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(tun.read(&mut [0; 1_400]).expect("none waits"), None);
    // The device is down.
    let error = tun.write(&[0x45; 20]).expect_err("is rejected").to_string();
    assert!(error.starts_with("write tun0: "), "{error}");
}
