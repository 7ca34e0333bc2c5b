//! `taut forward` while interfaces are renamed, replaced or get another MTU, and a second
//! forwarder.

use taut_linux::link::{self, OffloadControl};
use taut_linux::{NetNs, VirtioNetHeader};

use crate::live_forward::bench::{self, Bench, Forwarder, LEFT, RIGHT, allowed, frame, of, total};
use crate::live_forward::stream;

const XDP: &str = "--driver af_xdp";
const TO: [u8; 6] = [2, 0, 0, 0, 0, 99];

/// Sets the MTU of all four devices, and waits until the forwarder has noticed it.
fn set_mtus(bench: &Bench, forward: &Forwarder, mtu_bytes: u32) {
    link::set_mtu(&bench.left, "l0", mtu_bytes).expect("mtu");
    link::set_mtu(&bench.right, "r0", mtu_bytes).expect("mtu");
    for device in ["a0", "b0"] {
        link::set_mtu(&bench.between, device, mtu_bytes).expect("mtu");
        forward.waits_for(&format!("{device}: MTU is now {mtu_bytes} bytes"));
    }
}

fn ends_without_losses(forward: &Forwarder) {
    let document = forward.end();
    assert_eq!(total(&document, "unaccounted_packets"), 0, "{document}");
    for direction in 0..2 {
        let dropped = &document["directions"][direction]["dropped_packets"];
        assert_eq!(dropped, &serde_json::json!({}), "{document}");
    }
}

/// Renames both interfaces; the first one gets the former name of the other.
fn renamed_interfaces_continue(arguments: &str) {
    let bench = Bench::new();
    let control = OffloadControl::new(&bench.between).expect("control");
    let gro = control.active("lo").expect("loopback has it");
    control.turn_on("a0", &gro).expect("turns on");
    let forward = bench.start(arguments);
    for (at, (from, to)) in [("b0", "wan0"), ("a0", "b0")].into_iter().enumerate() {
        link::rename(&bench.between, from, to).expect("renames");
        forward.waits_for(&format!("{from}: renamed to {to}; the run continues"));
        assert!(stream(&bench, 5001 + at as u16, 1 << 16), "{from} {to}");
    }
    ends_without_losses(&forward);
    let active = || control.active("b0").expect("reads").to_string();
    bench::until("they are restored", || active().contains("rx-gro"));
}

#[test]
fn renamed_interfaces_keep_forwarding() {
    if allowed() {
        renamed_interfaces_continue("");
    }
}

#[test]
#[ignore = "live"]
fn renamed_interfaces_keep_forwarding_over_af_xdp() {
    if allowed() {
        renamed_interfaces_continue(XDP);
    }
}

/// Returns the longest frame to `TO` at this MTU, with these VLAN tags.
fn full_frame(mtu_bytes: usize, tags: &[u8]) -> Vec<u8> {
    let mut rest = [tags, &[0x88, 0xb5]].concat();
    rest.resize(2 + tags.len() + mtu_bytes, 0x5a);
    frame(TO, 1, &rest)
}

/// Raises the MTU twice and lowers it again. A frame of full size passes at each.
fn changed_mtu_is_followed(arguments: &str, mtus_bytes: &[u32]) {
    let bench = Bench::new();
    let forward = bench.start(arguments);
    let receiver = bench.receiver(RIGHT);
    for &mtu_bytes in mtus_bytes {
        set_mtus(&bench, &forward, mtu_bytes);
        let bytes = full_frame(mtu_bytes as usize, &[]);
        bench.send(LEFT, VirtioNetHeader::default(), &bytes);
        assert_eq!(receiver.next(&bytes[..12]).len(), bytes.len());
    }
    ends_without_losses(&forward);
}

#[test]
fn raised_mtu_carries_longer_frames() {
    if !allowed() {
        return;
    }
    changed_mtu_is_followed("", &[3_000, 9_000, 1_400, 65_000]);
    changed_mtu_is_followed("--limit off", &[9_000, 1_500]);
}

#[test]
#[ignore = "live"]
fn raised_mtu_carries_longer_frames_over_af_xdp() {
    if allowed() {
        changed_mtu_is_followed(XDP, &[2_000, 3_000, 1_400]);
    }
}

#[test]
fn second_forwarder_is_rejected_until_first_ends() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    link::add_veth_pair(&bench.between, "c0", &bench.left, "c1").expect("pair");
    let forward = bench.start("");
    let message = |device| {
        let id = forward.id();
        format!("process {id} forwards the frames of {device} already")
    };
    // The same pair, its reverse over another driver, and one shared interface.
    for (line, device) in [
        ("a0 b0", "b0"),
        ("b0 a0 --driver af_xdp", "a0"),
        ("c0 b0", "b0"),
    ] {
        let output = bench.run(line);
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {talk}");
        assert!(talk.contains(&message(device)), "{line}: {talk}");
    }
    bench.start("--force").end();
    // The kernel releases the claim of a killed process.
    forward.kill("-KILL");
    bench.start("").end();
}

/// The index is the same, but all sockets and the program have lost the device.
fn returned_interface_continues(arguments: &str) {
    let bench = Bench::new();
    let forward = bench.start(arguments);
    let elsewhere = NetNs::new().expect("namespace");
    link::set_namespace(&bench.between, "b0", &elsewhere).expect("moves");
    forward.waits_for("b0: device moved to another network namespace");
    link::set_namespace(&elsewhere, "b0", &bench.between).expect("moves");
    link::set_up(&bench.between, "b0").expect("up");
    forward.waits_for("b0 is up");
    assert!(stream(&bench, 5001, 1 << 16), "in both directions");
    let document = forward.end();
    assert_eq!(total(&document, "unaccounted_packets"), 0, "{document}");
}

#[test]
fn interface_returns_from_another_namespace() {
    if allowed() {
        returned_interface_continues("");
    }
}

#[test]
#[ignore = "live"]
fn interface_returns_from_another_namespace_over_af_xdp() {
    if allowed() {
        returned_interface_continues(XDP);
    }
}

/// Frames of full size with these tags: a provider's, a provider's and a customer's, two
/// customers'.
const TAGS: [&[u8]; 3] = [
    &[0x88, 0xa8, 0, 7],
    &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9],
    &[0x81, 0, 0, 7, 0x81, 0, 0, 9],
];

fn bench_for_tags() -> Bench {
    let bench = Bench::new();
    for (ns, device) in [
        (&bench.left, "l0"),
        (&bench.right, "r0"),
        (&bench.between, "a0"),
    ] {
        link::set_mtu(ns, device, 1_508).expect("mtu");
    }
    bench
}

#[test]
fn full_size_stacked_tags_have_a_reason() {
    if !allowed() {
        return;
    }
    let bench = bench_for_tags();
    let forward = bench.start("");
    assert!(forward.talk().contains("too_long_tagged"));
    for tags in TAGS {
        let bytes = full_frame(1_500, tags);
        bench.send(LEFT, VirtioNetHeader::default(), &bytes);
    }
    let receiver = bench.receiver(RIGHT);
    let bytes = full_frame(1_500, &[0x81, 0, 0, 7]);
    bench.send(LEFT, VirtioNetHeader::default(), &bytes);
    assert_eq!(receiver.next(&bytes[..12]), bytes);
    let document = forward.end();
    let dropped = &document["directions"][0]["dropped_packets"];
    assert_eq!(dropped["too_long_tagged"], 3, "{document}");
    assert_eq!(of(&document, 0, "sent_packets"), 1, "{document}");
}

#[test]
#[ignore = "live"]
fn full_size_stacked_tags_pass_over_af_xdp() {
    if !allowed() {
        return;
    }
    let bench = bench_for_tags();
    let forward = bench.start(XDP);
    let receiver = bench.receiver(RIGHT);
    for tags in TAGS {
        let bytes = full_frame(1_500, tags);
        bench.send(LEFT, VirtioNetHeader::default(), &bytes);
        assert_eq!(receiver.next(&bytes[..12]), bytes);
    }
    ends_without_losses(&forward);
}
