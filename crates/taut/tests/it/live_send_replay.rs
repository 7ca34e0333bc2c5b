//! Repeated sending of frames captured from a TCP connection, as tcpreplay does. Run it separately:
//! `cargo test --release -p taut --test it -- live_send_replay --ignored --test-threads 1`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

use taut_linux::link::{self, MacAddress};
use taut_linux::{NetNs, Tap, TapConfig, VirtioNetHeader, poll, sched};

use crate::live_send::Capture;
use crate::send_world::{PATIENCE, World, allowed, shaped};

const FRAMES: usize = 100_000;
/// Small, to keep the file small.
const MTU_BYTES: u32 = 576;
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

/// A host with a TAP without offloads.
fn host(number: usize) -> (NetNs, Tap) {
    let ns = NetNs::new().expect("namespace");
    let config = TapConfig {
        checksum_offload: false,
        segmentation_offload: false,
        mac: Some(MacAddress::local(number as u32 + 1)),
        ..TapConfig::default()
    };
    let tap = Tap::open(&ns, "tap0", config).expect("tap");
    link::set_mtu(&ns, "tap0", MTU_BYTES).expect("mtu");
    link::add_address(&ns, "tap0", ADDRESSES[number], 24).expect("address");
    link::set_up(&ns, "tap0").expect("up");
    let other = 1 - number;
    let mac = MacAddress::local(other as u32 + 1);
    link::add_neighbour(&ns, "tap0", ADDRESSES[other], mac).expect("neighbour");
    (ns, tap)
}

/// Frames of both directions of a TCP connection, as on a wire.
fn captured() -> Vec<Vec<u8>> {
    let [(client_ns, client_tap), (server_ns, server_tap)] = [host(0), host(1)];
    let server = server_ns
        .run(|| TcpListener::bind((ADDRESSES[1], 7)))
        .expect("enters");
    let server = server.expect("listens");
    thread::scope(|scope| {
        // Both threads end when the wire is closed.
        scope.spawn(move || {
            let (mut stream, _) = server.accept().expect("accepts");
            stream.set_read_timeout(Some(PATIENCE)).expect("sets");
            let mut buffer = vec![0; 1 << 16];
            while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        });
        let connect = || TcpStream::connect_timeout(&(ADDRESSES[1], 7).into(), PATIENCE);
        scope.spawn(move || {
            let stream = client_ns.run(connect).expect("enters");
            let mut stream = stream.expect("connects");
            stream.set_write_timeout(Some(PATIENCE)).expect("sets");
            // Slightly more data than the capture keeps.
            let data: Vec<u8> = (0..1 << 16).map(|at| (at * 7 / 3) as u8).collect();
            for _ in 0..FRAMES * MTU_BYTES as usize / data.len() + 200 {
                if stream.write_all(&data).is_err() {
                    break;
                }
            }
        });
        wire(&client_tap, &server_tap)
    })
}

/// Carries frames in both directions until no more arrive. Returns the first ones.
fn wire(left: &Tap, right: &Tap) -> Vec<Vec<u8>> {
    let mut frames = Vec::with_capacity(FRAMES);
    let mut buffer = vec![0; left.read_limit_bytes()];
    loop {
        let soon_ns = sched::monotonic_ns() + 1_000_000_000;
        let ready = poll::wait(&[left.as_fd(), right.as_fd()], Some(soon_ns)).expect("polls");
        if !ready.contains(&true) {
            return frames;
        }
        for (from, to) in [(left, right), (right, left)] {
            for _ in 0..64 {
                let Some(bytes) = from.read(&mut buffer).expect("reads") else {
                    break;
                };
                let (_, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
                if frames.len() < FRAMES {
                    frames.push(frame.to_vec());
                }
                // A frame that the other side rejects is lost; TCP retransmits it.
                let _ = to.write(&buffer[..bytes]).expect("writes");
            }
        }
    }
}

#[test]
#[ignore = "keeps two cores busy"]
fn repeated_tcp_capture_is_accounted_for() {
    if !allowed() {
        return;
    }
    let frames = captured();
    assert_eq!(frames.len(), FRAMES);
    assert!(
        frames
            .iter()
            .all(|frame| frame.len() <= MTU_BYTES as usize + 14),
        "no GSO packets"
    );
    let file = Capture::new("tcp", &frames);
    drop(frames);
    for driver in ["af_packet", "af_xdp"] {
        let world = World::new(shaped(1_000_000_000));
        let path = file.0.display();
        let sent = world
            .send(&format!("{path} --loop=3 --driver {driver}"))
            .end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(
            sent.count("completed_packets"),
            3 * FRAMES as u64,
            "{sent:?}"
        );
    }
}
