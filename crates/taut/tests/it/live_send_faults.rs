//! `taut send` while things go wrong: no hang, no panic, every packet accounted for. Run on its own:
//! `cargo test --release -p taut --test it -- live_send_faults --ignored --test-threads 1`.

use std::thread;
use std::time::Duration;

use taut_linux::af_xdp::{AfXdp, XdpConfig, XdpMode};
use taut_linux::link::{self, RootQdisc};

use crate::send_world::{DEVICE, World, allowed, shaped};

const RATE: u64 = 20_000_000;

#[test]
#[ignore = "needs a link of its own"]
fn a_link_that_goes_down_and_up_in_mid_send() {
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
        let heard = listener.end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(sent.count("submitted_packets"), 4_000);
        assert!(sent.talk.contains("near is down"), "{sent:?}");
        assert!(sent.talk.contains("near is up: sending again"), "{sent:?}");
        heard.assert_in_order();
        heard.assert_agrees(&sent);
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn what_was_in_flight_at_a_link_down_is_in_doubt() {
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
    let heard = listener.end();
    sent.assert_adds_up();
    let in_doubt = sent.count("in_doubt_packets");
    // The shaper held a hundred, which vanished.
    assert!((90..=300).contains(&in_doubt), "{sent:?}");
    assert!((heard.frames.len() as u64) < 3_000, "{sent:?}");
    heard.assert_in_order();
    heard.assert_agrees(&sent);
}

#[test]
#[ignore = "needs a link of its own"]
fn a_device_that_is_gone_for_good_ends_it_and_is_named() {
    if !allowed() {
        return;
    }
    for driver in ["af_packet", "af_xdp"] {
        let mut world = World::new(shaped(RATE));
        // It ends long before its time is over, for else nobody would wait so long here.
        let arguments = format!("--driver {driver} --rate 20mbit --limit 100p --duration 3600s");
        let sending = world.send(&arguments);
        world.wait_for_packets(300);
        // The pair goes with the peer's namespace.
        world.far = None;
        let sent = sending.end();
        assert_eq!(sent.code, Some(1), "{sent:?}");
        sent.assert_adds_up();
        assert!(sent.talk.contains("near: device removed"), "{sent:?}");
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn another_device_of_the_same_name_is_sent_on_again() {
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
        let heard = listener.end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.assert_adds_up();
        assert_eq!(sent.count("submitted_packets"), 3_000);
        assert!(heard.frames.len() > 1_000, "{} arrived", heard.frames.len());
        heard.assert_in_order();
    }
}

/// Another device has the name, and somebody else its queue, for longer than one try to bind it takes.
#[test]
#[ignore = "needs a link of its own"]
fn a_queue_that_is_busy_is_tried_again_until_it_is_free() {
    if !allowed() {
        return;
    }
    let mut world = World::new(shaped(RATE));
    // Of a stall nobody speaks meanwhile, and it is tried for as long as that.
    let mut sending = world.send("--driver af_xdp --rate 20mbit --stall 30s --count 3000");
    world.wait_for_packets(300);
    link::delete(&world.near, DEVICE).expect("deleted");
    // Down at first, so that this socket is the first.
    world.add_link(shaped(RATE));
    let config = XdpConfig {
        mode: XdpMode::Copy,
        ..XdpConfig::default()
    };
    let other = AfXdp::open(&world.near, DEVICE, &config).expect("is free");
    world.up();
    sending.hears("bind near: Device or resource busy");
    let listener = world.listen();
    drop(other);
    let sent = sending.end();
    let heard = listener.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert_eq!(sent.count("submitted_packets"), 3_000);
    assert!(!heard.frames.is_empty(), "it sends again: {sent:?}");
    assert!(sent.talk.contains("trying again"), "{sent:?}");
    heard.assert_in_order();
}

/// The age that is told of a stall, in ms.
fn told_age_ms(talk: &str) -> Option<u64> {
    let (_, after) = talk.split_once("packets in flight is ")?;
    after.split(' ').next()?.parse().ok()
}

#[test]
#[ignore = "needs a link of its own"]
fn completions_that_stop_are_reported_and_it_sends_again() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(RATE));
    let sending = world.send("--limit 50p --stall 500ms --count 3000");
    world.wait_for_packets(300);
    // A frame takes 12 s.
    world.shape(shaped(1_000));
    thread::sleep(Duration::from_millis(1_500));
    world.shape(shaped(RATE));
    let sent = sending.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert!(sent.count("in_doubt_packets") > 0, "{sent:?}");
    assert!(
        sent.count("completed_packets") > 1_000,
        "it sent again: {sent:?}"
    );
    let age_ms = told_age_ms(&sent.talk).expect("an age");
    assert!((500..=1_000).contains(&age_ms), "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn a_device_that_stands_still_does_not_keep_it_from_ending() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(1_000));
    let sent = world.send("--limit off --stall 200ms --count 100").end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    sent.assert_adds_up();
    assert!(sent.talk.contains("near: stalled"), "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn a_discipline_that_lets_nothing_through_is_named_with_call_and_errno() {
    if !allowed() {
        return;
    }
    // A full frame is longer than its bucket is deep: no buffer space, again and again.
    let world = World::new(RootQdisc::Tbf {
        rate_bits_per_s: RATE,
        burst_bytes: 1_000,
        limit_bytes: 1 << 20,
    });
    let sent = world.send("--stall 200ms --count 100").end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    sent.assert_adds_up();
    let named = format!("sendto {DEVICE}: No buffer space available (os error 105)");
    assert!(sent.talk.contains(&named), "{sent:?}");
}

#[test]
#[ignore = "needs a link of its own"]
fn a_ring_that_is_full_for_long_loses_nothing() {
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
    let heard = listener.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    sent.assert_adds_up();
    assert_eq!(
        (sent.count("completed_packets"), heard.frames.len()),
        (150, 150)
    );
    heard.assert_in_order();
}

#[test]
#[ignore = "needs a link of its own"]
fn after_a_kill_it_starts_again_as_if_nothing_had_been() {
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
