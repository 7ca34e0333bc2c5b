//! Tokens, responses and wake-ups.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use smoltcp::phy::{Device, RxToken, TxToken};
use smoltcp::time::Duration;
use taut_smoltcp::{Builder, Limited};

use crate::played::{Played, at, builder, drain, fill, of};

#[test]
fn device_holds_at_most_the_limit() {
    let mut device = builder().build(at(0)).unwrap();
    let sent = fill(&mut device);
    let held = device.device().taken.len();
    assert_eq!(device.backlog().packets, 4);
    assert_eq!(sent as usize, held + 4);
    assert!(held <= 3, "two, and the one that goes over: {held}");
    assert!(device.is_blocked());
    assert_eq!(device.stats().blocked_tokens, 1);
}

#[test]
fn frames_come_out_in_order_and_unchanged() {
    let mut device = builder().build(at(0)).unwrap();
    let sent = fill(&mut device);
    for done in 1..=sent {
        device.device_mut().finished = done;
        let _ = device.complete(at(i64::from(done)));
    }
    let taken = &device.device().taken;
    assert_eq!(taken.len(), sent as usize);
    for (number, frame) in taken.iter().enumerate() {
        assert_eq!(frame, &vec![number as u8; 100]);
    }
    assert_eq!(device.snapshot().in_flight, 0);
}

#[test]
fn dropped_token_releases_its_room() {
    let mut device = builder().build(at(0)).unwrap();
    for _ in 0..1000 {
        drop(device.transmit(at(0)).expect("there is room"));
    }
    assert!(fill(&mut device) > 4);
}

#[test]
fn received_frame_is_answered_without_room() {
    let mut device = builder()
        .slots(2)
        .largest_backlog_packets(4)
        .build(at(0))
        .unwrap();
    fill(&mut device);
    device.device_mut().to_receive = 3;
    for _ in 0..3 {
        let (received, answer) = device.receive(at(1)).expect("never refused");
        let length = received.consume(<[u8]>::len);
        assert_eq!(answer.consume(length, |frame| frame.len()), 60);
    }
    // Two frames are reserved for responses.
    assert_eq!(device.backlog().packets, 6);
    assert_eq!(device.stats().dropped_responses, 1);
}

#[derive(Default)]
struct Counted(AtomicU32);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn blocked_stack_is_woken_once() {
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(counted.clone());
    let mut device = builder().waker(waker).build(at(0)).unwrap();
    let at_once = Some(Duration::ZERO);
    assert_eq!(device.poll_delay(at(0), at_once), at_once);
    fill(&mut device);
    let waits = device.poll_delay(at(0), at_once);
    assert!(
        waits.is_none_or(|delay| delay > Duration::from_millis(10)),
        "{waits:?}"
    );
    assert!(!device.complete(at(1)), "nothing was sent");
    let before = counted.0.load(Ordering::Relaxed);
    device.device_mut().finished = 1;
    assert!(!device.complete(at(2)), "three wait");
    device.device_mut().finished = 4;
    assert!(device.complete(at(2)));
    assert!(!device.complete(at(2)), "notified once");
    assert!(counted.0.load(Ordering::Relaxed) > before);
    assert_eq!(device.poll_delay(at(2), at_once), at_once);
}

#[test]
fn device_without_tokens_keeps_order() {
    let mut device = builder().build(at(0)).unwrap();
    device.device_mut().is_full = true;
    let sent = fill(&mut device);
    assert_eq!(device.device().taken.len(), 0);
    device.device_mut().is_full = false;
    for done in 0..=sent {
        device.device_mut().finished = done;
        let _ = device.complete(at(1));
    }
    assert_eq!(device.device().taken.len(), sent as usize);
}

#[test]
fn no_limit_without_a_sent_counter() {
    let mut device = Limited::builder(Played::default()).build(at(0)).unwrap();
    for _ in 0..1000 {
        device.transmit(at(0)).unwrap().consume(100, |_| ());
    }
    assert_eq!(device.device().taken.len(), 1000);
    assert_eq!(device.backlog().packets, 0);
}

#[test]
fn reset_drops_frames_in_flight() {
    let mut device = builder().slots(2).build(at(0)).unwrap();
    let sent = fill(&mut device) as usize;
    assert_eq!(device.device().taken.len(), 2);
    device.reset(at(1));
    assert_eq!(device.device().taken.len(), 4, "its slots are free");
    for done in 1..=2 {
        device.device_mut().finished = 2 * done;
        let _ = device.complete(at(2));
    }
    assert_eq!(device.device().taken.len(), sent);
    drain(&mut device, at(3));
    assert_eq!(device.snapshot().in_flight, 0);
}

#[test]
fn reset_drops_frames_not_accepted_by_device() {
    let mut device = builder().slots(2).build(at(0)).unwrap();
    device.device_mut().is_full = true;
    let sent = fill(&mut device) as usize;
    device.device_mut().is_full = false;
    device.reset(at(1));
    let taken = device.device().taken.iter().map(|frame| frame[0]);
    assert_eq!(taken.collect::<Vec<_>>(), [2, 3], "0 and 1 were in flight");
    drain(&mut device, at(2));
    assert_eq!(device.device().taken.len(), sent - 2);
    assert_eq!(device.snapshot().in_flight, 0);
}

#[test]
fn stall_is_detected_and_counted_once() {
    let mut device = builder().build(at(0)).unwrap();
    fill(&mut device);
    let mut now = at(0);
    for _ in 0..3 {
        assert_eq!(device.stats().stalls, 0);
        let wait = device.poll_delay(now, None).expect("a stall is looked for");
        now += wait;
        let _ = device.complete(now);
        if device.stats().stalls > 0 {
            break;
        }
    }
    assert_eq!(device.stats().stalls, 1, "at {now}, not again");
    for seconds in 1..10 {
        let _ = device.complete(now + Duration::from_secs(seconds));
    }
    assert_eq!(device.stats().stalls, 1);
}

#[test]
fn invalid_counter_completes_at_most_all_frames() {
    let mut device = builder().build(at(0)).unwrap();
    fill(&mut device);
    device.device_mut().finished = u32::MAX;
    let _ = device.complete(at(1));
    let _ = device.complete(at(1));
    assert!(device.device().taken.len() <= 6);
}

/// Returns the error for an invalid setting.
fn refused(builder: Builder<Played>) -> String {
    builder.build(at(0)).err().expect("refused").to_string()
}

#[test]
fn invalid_settings_are_rejected_with_their_range() {
    let most = 1 << 16;
    let cases = [
        (builder().slots(0), "slots is 0; allowed: 1 to 65536"),
        (builder().slots(u32::MAX), "slots is 4294967295"),
        (
            builder().backlog_packets(0),
            "backlog_packets is 0; allowed: 1 to",
        ),
        (
            builder().backlog_packets(most + 1),
            "backlog_packets is 65537",
        ),
        (
            builder().largest_backlog_packets(3),
            "largest_backlog_packets is 3; allowed: 4 to 65536",
        ),
        (
            builder().response_frames(most + 1),
            "response_frames is 65537; allowed: 0 to 65536",
        ),
    ];
    for (builder, what) in cases {
        let error = refused(builder);
        assert!(error.contains(what), "{error}");
    }
    for (burst_packets, what) in [
        (0, "max_burst_size is 0"),
        (1 << 20, "max_burst_size is 1048576"),
    ] {
        let device = Played {
            burst_packets: Some(burst_packets),
            ..Played::default()
        };
        let error = refused(of(device));
        assert!(error.contains(what), "{error}");
    }
    // A frame allocates memory when it is first used.
    let largest = builder()
        .slots(most)
        .backlog_packets(most)
        .response_frames(most);
    assert!(largest.build(at(0)).is_ok());
}

#[test]
fn max_burst_size_bounds_the_device() {
    let device = Played {
        burst_packets: Some(3),
        ..Played::default()
    };
    let many = "1000p".parse().unwrap();
    let mut device = of(device).limit(many).build(at(0)).unwrap();
    fill(&mut device);
    assert_eq!(device.device().taken.len(), 3);
    assert_eq!(device.capabilities().max_burst_size, Some(3));
}

#[test]
fn bulk_sender_is_bound_by_the_smaller_backlog() {
    let mut device = builder().largest_backlog_packets(100).build(at(0)).unwrap();
    fill(&mut device);
    assert_eq!(device.backlog().packets, 4);
}

#[test]
fn panicking_closure_releases_its_frame() {
    let mut device = builder().build(at(0)).unwrap();
    // More than there are frames.
    for _ in 0..1000 {
        let token = device.transmit(at(0)).expect("there is room");
        let panics =
            AssertUnwindSafe(|| token.consume(60, |_| std::panic::resume_unwind(Box::new(()))));
        assert!(catch_unwind(panics).is_err());
    }
    assert!(fill(&mut device) > 4);
}

#[test]
fn maximum_timestamp_does_not_panic() {
    let end = at(i64::MAX);
    let mut device = builder().build(at(-1)).unwrap();
    device
        .transmit(end)
        .expect("there is room")
        .consume(100, |_| ());
    let _ = device.poll_delay(end, None);
    assert_eq!(device.device().taken.len(), 1);
}
