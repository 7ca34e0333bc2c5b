//! AF_XDP in copy mode between two namespaces.

use std::collections::VecDeque;
use std::io;

use taut_linux::af_packet::PacketReceiver;
use taut_linux::af_xdp::{AfXdp, Redirect, UmemFrames, XdpConfig, XdpMode};
use taut_linux::link::{self};
use taut_linux::{Frames, NetNs, Port, sched};
use taut_path::driver::CompletionStatus;
use taut_path::{AnyLimit, Completions, Queue};

use crate::common::{allowed, until};

struct Wire {
    near: NetNs,
    far: NetNs,
}

impl Wire {
    fn new() -> Self {
        let (near, far) = (
            NetNs::new().expect("namespace"),
            NetNs::new().expect("namespace"),
        );
        link::add_veth_pair(&near, "near", &far, "far").expect("veth");
        link::set_up(&far, "far").expect("up");
        link::set_up(&near, "near").expect("up");
        Self { near, far }
    }
}

type XdpQueue = Queue<AfXdp>;

fn open(wire: &Wire, limit: &str, config: &XdpConfig) -> (XdpQueue, UmemFrames) {
    let (ring, frames) = AfXdp::open(&wire.near, "near", config).expect("opens");
    let queue = Queue::builder_for(ring)
        .limit(limit.parse::<AnyLimit>().expect("limit"))
        .build(sched::monotonic_ns())
        .expect("builds");
    (queue, frames)
}

/// A frame with its number.
fn numbered(number: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![0xab; length];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&0x88b5_u16.to_be_bytes());
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

#[test]
fn frames_arrive_unchanged_and_in_order() {
    if !allowed() {
        return;
    }
    let wire = Wire::new();
    let receiver = PacketReceiver::open(&wire.far, "far").expect("receives");
    let (mut queue, mut frames) = open(&wire, "off", &XdpConfig::default());
    assert_eq!(queue.device().mode(), "copy");
    let mut expected = VecDeque::new();
    let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
    for number in 0..2_000 {
        let frame = numbered(number, 60 + number as usize % 1455);
        let now_ns = sched::monotonic_ns();
        queue.enqueue(
            frames.packet(&frame).expect("a frame is free"),
            now_ns,
            &mut frames,
        );
        expected.push_back(frame);
        if number % 16 == 15 {
            let _ = queue.run(now_ns, &mut frames);
            let _ = queue.complete(now_ns, &mut frames).expect("completes");
        }
        while let Some(bytes) = receiver.read(&mut buffer).expect("reads") {
            let frame = expected.pop_front().expect("as many as were sent");
            assert_eq!(&buffer[bytes - frame.len()..bytes], frame);
        }
    }
    until("all have arrived", || {
        let now_ns = sched::monotonic_ns();
        let _ = queue.run(now_ns, &mut frames);
        let _ = queue.complete(now_ns, &mut frames).expect("completes");
        while let Some(bytes) = receiver.read(&mut buffer).expect("reads") {
            let frame = expected.pop_front().expect("as many as were sent");
            assert_eq!(&buffer[bytes - frame.len()..bytes], frame);
        }
        expected.is_empty() && queue.in_flight() == 0
    });
    assert_eq!(
        frames.free_frames(),
        4096 - 64,
        "all but those of the FILL ring"
    );
    assert_eq!(queue.completer_counters().completed_packets, 2_000);
    assert_eq!(queue.device().unknown_completions(), 0);
}

#[test]
fn plain_veth_has_early_completions() {
    if !allowed() {
        return;
    }
    let wire = Wire::new();
    let (mut queue, mut frames) = open(&wire, "dql", &XdpConfig::default());
    let frame = numbered(0, 1514);
    let mut sent = 0;
    while queue.device().completion_status() == CompletionStatus::Unknown && sent < 100_000 {
        let now_ns = sched::monotonic_ns();
        for _ in 0..32 {
            if let Ok(packet) = frames.packet(&frame) {
                queue.enqueue(packet, now_ns, &mut frames);
                sent += 1;
            }
        }
        let _ = queue.run(now_ns, &mut frames);
        let _ = queue.complete(now_ns, &mut frames).expect("completes");
    }
    eprintln!("{sent} sent: {:?}", queue.device().completion_status());
    assert_eq!(queue.device().completion_status(), CompletionStatus::Early);
    let _ = queue
        .complete(sched::monotonic_ns(), &mut frames)
        .expect("completes");
    assert!(queue.snapshot().early_completions);
}

#[test]
fn a_queue_is_bound_again_and_again() {
    if !allowed() {
        return;
    }
    let wire = Wire::new();
    let config = XdpConfig {
        mode: XdpMode::Copy,
        ..XdpConfig::default()
    };
    for _ in 0..5 {
        let (_queue, frames) = open(&wire, "off", &config);
        assert_eq!(frames.frames(), 4096);
    }
    let (mut queue, mut frames) = open(&wire, "off", &config);
    for number in 1..5 {
        let now_ns = sched::monotonic_ns();
        let frame = numbered(number, 100);
        queue.enqueue(frames.packet(&frame).expect("free"), now_ns, &mut frames);
        let _ = queue.run(now_ns, &mut frames);
        queue.reset(now_ns);
        queue.device_mut().reopen().expect("opens again");
        let in_ring = queue.device().in_ring();
        assert_eq!(in_ring.expect("counted").packets, 0);
        // The first batch returns the stale frame, or none if it was complete.
        let _ = queue.complete(now_ns, &mut frames).expect("completes");
        let before = queue.completer_counters().completed_packets;
        let now_ns = sched::monotonic_ns();
        queue.enqueue(frames.packet(&frame).expect("free"), now_ns, &mut frames);
        until("the new socket completes a frame", || {
            let now_ns = sched::monotonic_ns();
            let _ = queue.run(now_ns, &mut frames);
            let _ = queue.complete(now_ns, &mut frames).expect("completes");
            queue.completer_counters().completed_packets == before + 1
        });
    }
}

/// Sends numbered frames into the far device, which the near one returns, with AF_XDP on both.
fn echo(redirect: Redirect) {
    let wire = Wire::new();
    let config = XdpConfig {
        mode: XdpMode::Copy,
        ..XdpConfig::default()
    };
    let (ring, mut receiver, mut echoed) =
        AfXdp::open_both(&wire.near, "near", &config, redirect).expect("opens");
    let mut near = Queue::builder_for(ring)
        .limit(AnyLimit::off())
        .build(sched::monotonic_ns())
        .expect("builds");
    let (ring, mut back, mut frames) =
        AfXdp::open_both(&wire.far, "far", &config, redirect).expect("opens");
    let mut far = Queue::builder_for(ring)
        .limit(AnyLimit::off())
        .build(sched::monotonic_ns())
        .expect("builds");
    let (mut sent, mut expected, mut reopened) = (0, 0, 0);
    until("all came back", || {
        let now_ns = sched::monotonic_ns();
        // A new socket at times, with no frame in flight.
        let turns = reopened + 1;
        if expected == 300 * turns && near.in_flight() == 0 {
            let busy = near.device_mut().reopen().expect_err("has a receiver");
            assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
            near.reset(now_ns);
            near.device_mut()
                .reopen_both(&mut receiver)
                .expect("opens again");
            reopened += 1;
        }
        if sent < expected + 32 && sent < 1_000.min(300 * (reopened + 1)) {
            let frame = numbered(sent, 60 + sent as usize % 1455);
            far.enqueue(frames.packet(&frame).expect("free"), now_ns, &mut frames);
            sent += 1;
        }
        let _ = far.run(now_ns, &mut frames);
        let _ = far.complete(now_ns, &mut frames).expect("completes");
        receiver
            .receive(64, &mut |packet| near.enqueue(packet, now_ns, &mut echoed))
            .expect("receives");
        let _ = near.run(now_ns, &mut echoed);
        let _ = near.complete(now_ns, &mut echoed).expect("completes");
        let mut came = Vec::new();
        back.receive(64, &mut |packet| came.push(packet))
            .expect("receives");
        for packet in came {
            let frame = numbered(expected, 60 + expected as usize % 1455);
            let length = packet.wire_bytes() as usize;
            let same = frames.with(packet.frame(), |bytes| bytes[..length] == frame);
            assert_eq!(same, Ok(true), "frame {expected}");
            frames.release(packet.into_frame()).expect("taken");
            expected += 1;
        }
        expected == 1_000 && far.in_flight() == 0 && near.in_flight() == 0
    });
    assert_eq!(receiver.counters().expect("counted"), Default::default());
    // The kernel owns the frames of the FILL ring while the sender keeps the socket open.
    drop((receiver, back));
    assert!(frames.free_frames() < 4096 && echoed.free_frames() < 4096);
    near.device_mut().reopen().expect("has no receiver");
    assert_eq!(echoed.free_frames(), 4096);
}

#[test]
fn generic_mode_forwards_received_frames() {
    if allowed() {
        echo(Redirect::Generic);
    }
}

#[test]
fn native_mode_forwards_received_frames() {
    if allowed() {
        echo(Redirect::Native);
    }
}
