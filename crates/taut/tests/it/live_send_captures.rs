//! `taut send` of unusual captures over a veth pair. Run it separately:
//! `cargo test --release -p taut --test it -- live_send_captures --ignored --test-threads 1`.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use taut_linux::link;

use crate::live_send::Capture;
use crate::send_world::{DEVICE, World, allowed, shaped};

/// Frames that a device with an MTU of 1,500 bytes sends.
const SENDABLE_BYTES: std::ops::RangeInclusive<usize> = 14..=1_514;

#[test]
#[ignore = "needs a link of its own"]
fn unusual_captures_arrive_as_stated() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(50_000_000));
    for seed in 1_000..1_030 {
        let file = Capture::new("unusual", &[]);
        let capture = crate::unusual::unusual_capture(seed);
        fs::write(&file.0, &capture.bytes).expect("writes");
        if capture.packets.is_empty() {
            continue;
        }
        let listener = world.listen();
        let sent = world.send(&file.0.display().to_string()).end();
        let received = listener.end();
        let frames = capture
            .packets
            .iter()
            .filter_map(|packet| packet.as_ref().ok());
        let frames: Vec<_> = frames
            .filter(|frame| SENDABLE_BYTES.contains(&frame.len()))
            .collect();
        assert!(
            received.frames.iter().eq(frames.iter().copied()),
            "{seed}: bit for bit and in order"
        );
        let is_whole = capture.broken_at.is_none() && !frames.is_empty();
        assert_eq!(sent.code, Some(i32::from(!is_whole)), "{seed}: {sent:?}");
        assert_eq!(
            sent.document["not_read"].is_null(),
            capture.broken_at.is_none(),
            "{seed}"
        );
        sent.assert_adds_up();
        assert_eq!(
            sent.count("submitted_packets"),
            capture.packets.len() as u64,
            "{seed}"
        );
        for reason in [
            "cut_in_capture",
            "not_ethernet",
            "unknown_interface",
            "malformed",
        ] {
            let stated = capture.packets.iter();
            let stated = stated.filter(|packet| packet.as_ref().err() == Some(&reason));
            let counted = &sent.document["dropped_packets"][reason];
            // The document has the reasons that occurred.
            assert_eq!(
                counted.as_u64().unwrap_or(0),
                stated.count() as u64,
                "{seed}: {reason}"
            );
        }
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn endless_loop_of_unsendable_frames_ends() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(50_000_000));
    let file = Capture::new("unsendable", &[vec![7; 9_014], vec![7; 13]]);
    for arguments in [
        format!("{} --loop", file.0.display()),
        "--size 9000".to_owned(),
    ] {
        let sent = world.send(&arguments).end();
        assert_eq!(sent.code, Some(1), "{sent:?}");
        assert_eq!(sent.dropped(), sent.count("submitted_packets"));
        assert_eq!(sent.document["dropped_packets"]["longer_than_mtu"], 1);
        assert!(sent.talk.contains("no packet was sent"), "{sent:?}");
    }
}

#[test]
#[ignore = "needs a link of its own"]
fn link_that_stays_down_ends_with_duration() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(50_000_000));
    link::set_down(&world.near, DEVICE).expect("down");
    let sent = world.send("--duration 100ms").end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    assert!(
        sent.talk
            .contains("the link was down for all of --duration"),
        "{sent:?}"
    );
    let mut sending = world.send("--duration 1000s");
    sending.waits_for("waiting");
    sending.signal(Signal::INT);
    assert_eq!(sending.end().code, Some(130));
}

/// The times of a capture are lower bounds, so a busy machine cannot fail the test.
#[test]
#[ignore = "needs a link of its own"]
fn capture_timing_delays_packets() {
    if !allowed() {
        return;
    }
    let world = World::new(shaped(50_000_000));
    let file = Capture::new("timed", &[vec![7; 60], vec![8; 60]]);
    let mut bytes = fs::read(&file.0).expect("reads");
    // The second record is 3 s later.
    bytes[24 + 16 + 60] += 3;
    fs::write(&file.0, bytes).expect("writes");
    let path = file.0.display();
    for (arguments, least) in [("", 0), ("--timing capture --speed 5 --loop=2", 1_200)] {
        let start = Instant::now();
        let sent = world.send(&format!("{path} {arguments}")).end();
        assert_eq!(sent.code, Some(0), "{sent:?}");
        assert!(start.elapsed() >= Duration::from_millis(least), "{sent:?}");
        assert_eq!(sent.document["max_late_ns"].is_null(), least == 0);
    }
    let sent = world
        .send(&format!("{path} --timing capture --duration 50ms"))
        .end();
    assert_eq!(sent.count("completed_packets"), 1, "{sent:?}");
}
