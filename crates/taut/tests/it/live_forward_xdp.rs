//! `taut forward --driver af_xdp`: every received frame is forwarded unchanged or counted, under
//! all changes of the interfaces. Run it separately: `cargo test --release -p taut --test it --
//! live_forward_xdp --ignored --test-threads 1`.

use serde_json::Value;

use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, VirtioNetHeader};

use crate::live_forward::bench::{self, Bench, LEFT, RIGHT, allowed, frame, of, total};
use crate::live_forward::{every_kind_passes, stream, tcp_and_udp_arrive};

const XDP: &str = "--driver af_xdp";
const TO: [u8; 6] = [2, 0, 0, 0, 0, 99];

#[test]
#[ignore = "live"]
fn all_frame_types_pass_unchanged() {
    if allowed() {
        every_kind_passes(XDP);
    }
}

/// A veth delivers GSO packets and partial checksums of the sender's stack without a header for
/// them.
#[test]
#[ignore = "live"]
fn offloaded_tcp_and_udp_arrive() {
    if !allowed() {
        return;
    }
    let document = tcp_and_udp_arrive(XDP);
    for direction in 0..2 {
        let of = &document["directions"][direction];
        assert_eq!(
            (&of["driver"], &of["mode"]),
            (&"af_xdp".into(), &"copy".into())
        );
        assert_eq!(of["gso_packets"], 0, "the sender cuts them: {document}");
        assert_eq!(of["dropped_packets"], Value::Object(Default::default()));
    }
}

#[test]
#[ignore = "live"]
fn unsupported_interfaces_are_rejected_with_advice() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    link::add_veth_pair_with_queues(&bench.between, "c0", &bench.between, "c1", 2).expect("pair");
    let rejected = |arguments: &str, what: &str| {
        let output = bench.run(&format!("{XDP} {arguments}"));
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {talk}");
        assert!(talk.contains(what), "{arguments}: {talk}");
    };
    rejected("c0 b0", "c0 receives on 2 queues");
    rejected("a0 none", "no device \"none\"; there are: a0, ");
    link::set_mtu(&bench.between, "a0", 9_000).expect("mtu");
    rejected("a0 b0", "allowed with af_xdp: at most 3818");
}

/// Sends frames, and counts those that arrive at the other host.
fn pass(bench: &Bench, frames: u64) -> u64 {
    let receiver = bench.receiver(RIGHT);
    let bytes = frame(TO, 1, &[0x88; 1_400]);
    (0..frames).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
    receiver.count(&bytes, frames)
}

/// Without addresses, a host sends no frames of its own.
fn assert_adds_up(document: &Value) {
    assert_eq!(total(document, "unaccounted_packets"), 0, "{document}");
}

#[test]
#[ignore = "live"]
fn forwarding_continues_after_link_down() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let forward = bench.start(XDP);
    let bytes = frame(TO, 2, &[0x88; 1_400]);
    let mut arrived = pass(&bench, 50);
    let mut sent = 50;
    for _ in 0..2 {
        link::set_down(&bench.between, "b0").expect("down");
        forward.waits_for("b0 is down");
        (0..10).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
        link::set_up(&bench.between, "b0").expect("up");
        forward.waits_for("b0 is up");
        // The kernel can remove the carrier once more.
        assert!(stream(&bench, 5001, 1 << 16), "in both directions");
        arrived += pass(&bench, 50);
        sent += 60;
    }
    let document = forward.end();
    assert_adds_up(&document);
    assert!(of(&document, 0, "received_packets") >= sent, "{document}");
    assert!(of(&document, 0, "sent_packets") + of(&document, 0, "uncertain_packets") >= arrived);
}

/// The program and its map stay open, so a new socket or device needs CAP_NET_RAW only.
#[test]
#[ignore = "live"]
fn sockets_are_reopened_with_cap_net_raw() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let forward = bench.start(XDP);
    let status = forward.status();
    let talk = forward.talk();
    assert!(talk.contains("in native mode"), "{talk}");
    // 13 is CAP_NET_RAW; 14 is CAP_IPC_LOCK, kept if the limit of locked memory cannot be raised.
    let keeps_two = talk.contains("keeping CAP_IPC_LOCK");
    let kept = if keeps_two { "6000" } else { "2000" };
    for set in ["CapPrm", "CapEff"] {
        let line = format!("{set}:\t{kept:0>16}");
        assert!(status.contains(&line), "{line} in {status}");
    }
    assert_eq!(pass(&bench, 20), 20);
    // A new MTU: the ring is reopened on the same device.
    for mtu_bytes in [1_400, 1_500] {
        link::set_mtu(&bench.between, "b0", mtu_bytes).expect("mtu");
        forward.waits_for(&format!("b0: MTU is now {mtu_bytes} bytes"));
        assert_eq!(pass(&bench, 20), 20);
    }
    assert!(stream(&bench, 5001, 1 << 16), "in both directions");
    bench.remove_right_link();
    forward.waits_for("b0: device removed");
    let lost = frame(TO, 1, &[0x88; 100]);
    bench.send(LEFT, VirtioNetHeader::default(), &lost);
    bench.add_right_link();
    forward.waits_for("b0: device added again");
    forward.waits_for("b0 is up");
    assert!(stream(&bench, 5002, 1 << 20), "in both directions");
    let document = forward.end();
    assert_adds_up(&document);
}

/// The FILL ring has 2,048 frames.
#[test]
#[ignore = "live"]
fn kernel_drops_without_frames_are_counted() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let forward = bench.start(XDP);
    let receiver = bench.receiver(RIGHT);
    let bytes = frame(TO, 1, &[0x88; 200]);
    forward.signal("-STOP");
    (0..4_000).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
    forward.signal("-CONT");
    bench.settle();
    let arrived = receiver.all(&bytes);
    let document = forward.end();
    assert_adds_up(&document);
    let missed = &document["directions"][0]["dropped_packets"]["receive_buffer_full"];
    assert!(missed.as_u64().unwrap_or(0) > 0, "{document}");
    let received = of(&document, 0, "received_packets");
    assert!((2_048..=4_000).contains(&received), "{document}");
    assert!(arrived <= of(&document, 0, "sent_packets"), "{document}");
}

#[test]
#[ignore = "live"]
fn devices_are_always_restored() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    for signal in ["-INT", "-KILL", "-TERM"] {
        let forward = bench.start(XDP);
        assert_eq!(pass(&bench, 5), 5);
        forward.kill(signal);
        // While a program is attached, the kernel returns EBUSY.
        let own = bench.receiver_at(&bench.between, "a0");
        let bytes = frame(TO, 3, &[0x88; 100]);
        bench::until("the bridge receives again", || {
            bench.send(LEFT, VirtioNetHeader::default(), &bytes);
            own.all(&bytes) > 0
        });
    }
}

/// The right host is behind a separate bridge with a shaper on its port. Packets in the shaper are
/// not complete, so the completions are valid.
struct Shaped {
    bench: Bench,
    switch: NetNs,
}

impl Shaped {
    fn new(rate_bits_per_s: u64) -> Self {
        let bench = Bench::new();
        bench.remove_right_link();
        let switch = NetNs::new().expect("namespace");
        link::add_bridge(&switch, "bridge").expect("bridge");
        link::add_veth_pair(&bench.between, "b0", &switch, "in").expect("pair");
        link::add_veth_pair(&switch, "out", &bench.right, "r0").expect("pair");
        for (ns, device) in [
            (&switch, "bridge"),
            (&switch, "in"),
            (&switch, "out"),
            (&bench.right, "r0"),
            (&bench.between, "b0"),
        ] {
            link::set_up(ns, device).expect("up");
        }
        for port in ["in", "out"] {
            link::add_to_bridge(&switch, "bridge", port).expect("port");
        }
        let shaped = Self { bench, switch };
        shaped.shape(rate_bits_per_s);
        shaped
    }

    fn shape(&self, rate_bits_per_s: u64) {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 2_000,
            limit_bytes: 16 << 20,
        };
        link::set_root_qdisc(&self.switch, "out", shaper).expect("shaper");
    }

    /// A bridge forwards frames some time after its ports are up.
    fn wait_until_it_forwards(&self) {
        let receiver = self.bench.receiver(RIGHT);
        let probe = frame(TO, 9, &[0x88; 60]);
        bench::until("the bridge forwards", || {
            self.bench.send(LEFT, VirtioNetHeader::default(), &probe);
            receiver.all(&probe) > 0
        });
        self.bench.settle();
    }
}

#[test]
#[ignore = "live"]
fn stalled_af_xdp_ring_is_reopened() {
    if !allowed() {
        return;
    }
    let world = Shaped::new(50_000_000);
    let bench = &world.bench;
    let forward = bench.start(&format!("{XDP} --limit off"));
    world.wait_until_it_forwards();
    assert_eq!(pass(bench, 500), 500);
    // Each frame takes 11 s: the completions appear to be lost.
    world.shape(1_000);
    let bytes = frame(TO, 1, &[0x88; 1_400]);
    (0..20).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
    forward.waits_for("the ring is reopened");
    // The kernel still holds these frames; after a close, the queue would be busy.
    let receiver = bench.receiver(RIGHT);
    world.shape(100_000_000);
    (0..50).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
    receiver.count(&bytes, 50);
    bench.settle();
    let document = forward.end();
    assert_adds_up(&document);
    let there = &document["directions"][0];
    assert_eq!(there["completions"], "valid", "{document}");
    assert!(of(&document, 0, "uncertain_packets") > 0, "{document}");
}
