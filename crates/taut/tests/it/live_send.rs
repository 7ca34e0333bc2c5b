//! `taut send` over a veth pair: received frames and messages. Run it separately:
//! `cargo test --release -p taut --test it -- live_send --ignored --test-threads 1`.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use taut_linux::link::RootQdisc;

use crate::send_world::{World, allowed, shaped};

/// A file that is removed on drop.
pub struct Capture(pub PathBuf);

impl Capture {
    pub fn new(name: &str, frames: &[Vec<u8>]) -> Self {
        let mut bytes = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1]
            .map(u32::to_le_bytes)
            .concat();
        for frame in frames {
            let length = frame.len() as u32;
            bytes.extend([1, 2, length, length].map(u32::to_le_bytes).concat());
            bytes.extend_from_slice(frame);
        }
        let file = format!("taut-send-{}-{name}.pcap", std::process::id());
        let path = std::env::temp_dir().join(file);
        fs::write(&path, bytes).expect("writes");
        Self(path)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Distinct frames of all lengths that no host answers.
fn frames(count: u32) -> Vec<Vec<u8>> {
    let frame = |number: u32| {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
        let mut state = number.wrapping_mul(0x9e37_79b9) | 1;
        frame.extend((0..number * 37 % 1_501).map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        }));
        frame
    };
    (0..count).map(frame).collect()
}

fn a_file_arrives(driver: &str) {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(50_000_000));
    let good = frames(1_000);
    // The file has frames that cannot be sent.
    let mut all = good.clone();
    all.insert(500, Vec::new());
    all.insert(100, vec![7; 13]);
    all.insert(900, vec![7; 1_519]);
    all.push(vec![7; 65_535]);
    let file = Capture::new(driver, &all);
    let listener = world.listen();
    let path = file.0.display();
    let sent = world
        .send(&format!("{path} --loop=2 --driver {driver} --rate 50mbit"))
        .end();
    let received = listener.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert_eq!(sent.count("submitted_packets"), 2 * all.len() as u64);
    assert_eq!(sent.count("completed_packets"), 2_000);
    let dropped = &sent.document["dropped_packets"];
    assert_eq!(dropped["shorter_than_header"], 4);
    assert_eq!(dropped["longer_than_mtu"], 4);
    assert_eq!(received.missed, 0);
    // A veth does not pad frames.
    assert!(
        received.frames.iter().eq(good.iter().chain(&good)),
        "bit for bit and in order"
    );
}

#[test]
#[ignore = "needs a link of its own"]
fn file_arrives_unchanged_over_af_packet() {
    a_file_arrives("af_packet");
}

#[test]
#[ignore = "needs a link of its own"]
fn file_arrives_unchanged_over_af_xdp() {
    a_file_arrives("af_xdp");
}

#[test]
#[ignore = "needs a link of its own"]
fn limit_keeps_a_shaped_ring_short() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(100_000_000));
    let sent = world
        .send("--count 10000 --limit dql --coalesce 250us")
        .end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert_eq!(sent.document["completions"], "valid");
    assert_eq!(sent.document["mode"], "ring");
    assert_eq!(sent.count("completed_packets"), 10_000);
    // A full ring would be 1.5 MB.
    let in_flight = sent.count("inflight_bytes");
    assert!((1..500_000).contains(&in_flight), "{sent:?}");
    assert!(sent.count("limit_bytes_p50") > 0, "{sent:?}");
    let rate = sent.document["bps"].as_f64().expect("a rate");
    assert!(rate < 102_000_000.0, "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn plain_veth_disables_the_limit() {
    if !allowed() {
        return;
    }
    let world = World::new(RootQdisc::NoQueue);
    for driver in ["af_packet", "af_xdp"] {
        let sent = world
            .send(&format!("--count 20000 --driver {driver}"))
            .end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(sent.document["driver"], driver);
        assert_eq!(sent.document["completions"], "early");
        assert!(sent.document["limit_bytes_p50"].is_null());
        assert!(sent.talk.contains("the limit dql is disabled"), "{sent:?}");
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn interrupt_completes_queued_packets() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(20_000_000));
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let listener = world.listen();
        let sending = world.send("--limit 64p");
        world.wait_for_packets(200);
        sending.signal(signal);
        let sent = sending.end();
        let received = listener.end();
        assert_eq!(sent.code, Some(code), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!((sent.count("uncertain_packets"), sent.dropped()), (0, 0));
        received.assert_in_order();
        received.assert_agrees(&sent);
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn qdisc_drops_are_counted_with_reason() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(2_000_000));
    // 128 waiting packets take 0.8 s.
    let sent = world
        .send("--qdisc codel --limit dql --duration 2s --flows 4")
        .end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    let late = &sent.document["dropped_packets"]["waited_too_long"];
    assert!(late.as_u64().expect("a count") > 0, "{sent:?}");
}
