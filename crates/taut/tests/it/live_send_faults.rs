//! `taut send` under faults: no hang, no panic, every packet accounted for. Run it separately:
//! `cargo test --release -p taut --test it -- live_send_faults --ignored --test-threads 1`.

use std::thread;
use std::time::Duration;

use taut_linux::af_xdp::{AfXdp, XdpConfig, XdpMode};
use taut_linux::link::{self, RootQdisc};

use crate::send_world::{DEVICE, World, allowed, shaped};

const RATE: u64 = 20_000_000;

#[test]
#[ignore = "needs a link of its own"]
fn link_down_and_up_while_sending() {
    if !allowed() {
        return;
    }
    for driver in ["af_packet", "af_xdp"] {
        let world = World::new(shaped(RATE));
        let listener = world.listen();
        let arguments = format!("--driver {driver} --rate 20mbit --limit off --count 4000");
        let sending = world.send(&arguments);
        for _ in 0..3 {
            world.wait_for_packets(200);
            link::set_down(&world.near, DEVICE).expect("down");
            thread::sleep(Duration::from_millis(50));
            link::set_up(&world.near, DEVICE).expect("up");
        }
        let sent = sending.end();
        let received = listener.end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(sent.count("submitted_packets"), 4_000);
        assert!(sent.talk.contains("near is down"), "{sent:?}");
        assert!(sent.talk.contains("near is up"), "{sent:?}");
        received.assert_in_order();
        received.assert_agrees(&sent);
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn packets_in_flight_at_link_down_are_uncertain() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(RATE));
    let listener = world.listen();
    let sending = world.send("--limit 100p --count 3000");
    world.wait_for_packets(300);
    link::set_down(&world.near, DEVICE).expect("down");
    link::set_up(&world.near, DEVICE).expect("up");
    let sent = sending.end();
    let received = listener.end();
    sent.assert_adds_up();
    let uncertain = sent.count("uncertain_packets");
    // The kernel purged the hundred packets in the shaper.
    assert!((90..=300).contains(&uncertain), "{sent:?}");
    assert!((received.frames.len() as u64) < 3_000, "{sent:?}");
    received.assert_in_order();
    received.assert_agrees(&sent);
}

#[test]
#[ignore = "needs a link of its own"]
fn removed_device_ends_the_run() {
    if !allowed() {
        return;
    }
    for driver in ["af_packet", "af_xdp"] {
        let mut world = World::new(shaped(RATE));
        // The run must end long before its duration.
        let arguments = format!("--driver {driver} --rate 20mbit --limit 100p --duration 3600s");
        let sending = world.send(&arguments);
        world.wait_for_packets(300);
        // Removing the peer's namespace removes the pair.
        world.far = None;
        let sent = sending.end();
        assert_eq!(sent.code, Some(1), "{sent:?}");
        sent.assert_adds_up();
        assert!(sent.talk.contains("near: device removed"), "{sent:?}");
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn new_device_of_the_same_name_is_used() {
    if !allowed() {
        return;
    }
    for driver in ["af_packet", "af_xdp"] {
        let mut world = World::new(shaped(RATE));
        let arguments = format!("--driver {driver} --rate 20mbit --limit 100p --count 3000");
        let sending = world.send(&arguments);
        world.wait_for_packets(300);
        link::delete(&world.near, DEVICE).expect("deleted");
        world.make_link(shaped(RATE));
        let listener = world.listen();
        let sent = sending.end();
        let received = listener.end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(sent.count("submitted_packets"), 3_000);
        assert!(
            received.frames.len() > 1_000,
            "{} arrived",
            received.frames.len()
        );
        received.assert_in_order();
    }
}

/// A new device has the name, and another socket its queue, for longer than one attempt to bind it.
#[test]
#[ignore = "needs a link of its own"]
fn busy_queue_is_retried() {
    if !allowed() {
        return;
    }
    let mut world = World::new(shaped(RATE));
    // The stall threshold is long, so that no stall is reported meanwhile.
    let mut sending =
        world.send("--driver af_xdp --rate 20mbit --stall-threshold 30s --count 3000");
    world.wait_for_packets(300);
    link::delete(&world.near, DEVICE).expect("deleted");
    // The device is down at first, so that this socket binds first.
    world.add_link(shaped(RATE));
    let config = XdpConfig {
        mode: XdpMode::Copy,
        ..XdpConfig::default()
    };
    let other = AfXdp::open(&world.near, DEVICE, &config).expect("is free");
    world.up();
    sending.waits_for("bind near: Device or resource busy");
    let listener = world.listen();
    drop(other);
    let sent = sending.end();
    let received = listener.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert_eq!(sent.count("submitted_packets"), 3_000);
    assert!(!received.frames.is_empty(), "it sends again: {sent:?}");
    assert!(sent.talk.contains("retrying"), "{sent:?}");
    received.assert_in_order();
}

/// Returns the age of the oldest packet in the message about a stall, in ms.
fn reported_age_ms(talk: &str) -> Option<u64> {
    let (_, after) = talk.split_once("packets in flight is ")?;
    after.split(' ').next()?.parse().ok()
}

#[test]
#[ignore = "needs a link of its own"]
fn stall_is_reported_and_sending_continues() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(RATE));
    let sending = world.send("--limit 50p --stall-threshold 500ms --count 3000");
    world.wait_for_packets(300);
    // Each frame takes 12 s.
    world.shape(shaped(1_000));
    thread::sleep(Duration::from_millis(1_500));
    world.shape(shaped(RATE));
    let sent = sending.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert!(sent.count("uncertain_packets") > 0, "{sent:?}");
    assert!(
        sent.count("completed_packets") > 1_000,
        "it sent again: {sent:?}"
    );
    let age_ms = reported_age_ms(&sent.talk).expect("an age");
    assert!((500..=1_000).contains(&age_ms), "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn stalled_device_does_not_block_the_end() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(1_000));
    let sent = world
        .send("--limit off --stall-threshold 200ms --count 100")
        .end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    sent.assert_adds_up();
    assert!(sent.talk.contains("near: stalled"), "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn blocking_discipline_is_reported_with_errno() {
    if !allowed() {
        return;
    }
    // A full frame exceeds the bucket, so every send fails with no buffer space.
    let world = World::new(RootQdisc::Tbf {
        rate_bits_per_s: RATE,
        burst_bytes: 1_000,
        limit_bytes: 1 << 20,
    });
    let sent = world.send("--stall-threshold 200ms --count 100").end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    sent.assert_adds_up();
    let named = format!("sendto {DEVICE}: No buffer space available (os error 105)");
    assert!(sent.talk.contains(&named), "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn full_ring_loses_no_packet() {
    if !allowed() {
        return;
    }
    // 16 slots, 24 ms a frame, and the shaper's own queue is full as well: EAGAIN and ENOBUFS.
    let world = World::new(RootQdisc::Tbf {
        rate_bits_per_s: 500_000,
        burst_bytes: 2_000,
        limit_bytes: 10_000,
    });
    let listener = world.listen();
    let sent = world.send("--limit off --ring 16 --count 150").end();
    let received = listener.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert_eq!(
        (sent.count("completed_packets"), received.frames.len()),
        (150, 150)
    );
    received.assert_in_order();
}

#[test]
#[ignore = "needs a link of its own"]
fn restart_after_sigkill_succeeds() {
    if !allowed() {
        return;
    }
    for driver in ["af_packet", "af_xdp"] {
        let world = World::new(shaped(RATE));
        let mut first = world.send(&format!("--driver {driver} --rate 20mbit --limit off"));
        world.wait_for_packets(200);
        first.0.kill().expect("kills");
        first.0.wait().expect("ends");
        let arguments = format!("--driver {driver} --rate 20mbit --count 500");
        let sent = world.send(&arguments).end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(sent.count("completed_packets"), 500);
    }
}
