//! Times and contents of the receiver's acknowledgements.

use crate::tcp_support::MS;
use taut_sim::tcp::{Ack, TcpConfig, TcpReceiver};

const MSS: u32 = 1000;

fn receiver() -> TcpReceiver {
    TcpReceiver::new(&TcpConfig {
        mss_bytes: MSS,
        ecn: true,
        ..TcpConfig::default()
    })
}

/// Delivers segment `number`.
fn arrive(receiver: &mut TcpReceiver, number: u64, now_ns: u64) -> Option<Ack> {
    receiver.on_segment(number * u64::from(MSS), MSS, false, now_ns)
}

/// Blocks in segments.
fn blocks(ack: Ack) -> Vec<(u64, u64)> {
    ack.sacked()
        .map(|(start, end)| (start / 1000, end / 1000))
        .collect()
}

#[test]
fn acknowledges_every_second_segment_or_after_delay() {
    let mut receiver = receiver();
    assert_eq!(arrive(&mut receiver, 0, 0), None);
    assert_eq!(receiver.next_timer_ns(), Some(40 * MS));
    let ack = arrive(&mut receiver, 1, 39 * MS).expect("the second");
    assert_eq!((ack.cumulative, ack.window_bytes), (2000, 131_072));
    assert_eq!(receiver.next_timer_ns(), None);
    assert_eq!(arrive(&mut receiver, 2, 50 * MS), None);
    assert_eq!(receiver.on_timer(90 * MS - 1), None);
    assert_eq!(
        receiver.on_timer(90 * MS).map(|ack| ack.cumulative),
        Some(3000)
    );
    assert_eq!(receiver.on_timer(200 * MS), None);
    // Short segments count as segments.
    assert_eq!(receiver.on_segment(3000, 1, false, 0), None);
    assert!(receiver.on_segment(3001, 1, false, 0).is_some());
    assert_eq!(receiver.delivered_bytes(), 3002);
}

#[test]
fn data_carries_the_delayed_acknowledgement() {
    let mut receiver = receiver();
    assert_eq!(receiver.take_ack(), None);
    assert_eq!(arrive(&mut receiver, 0, 0), None);
    assert_eq!(receiver.take_ack().map(|ack| ack.cumulative), Some(1000));
    assert_eq!(
        (receiver.take_ack(), receiver.next_timer_ns()),
        (None, None)
    );
    // The count restarts.
    assert_eq!(arrive(&mut receiver, 1, 0), None);
}

#[test]
fn gaps_are_acknowledged_at_once() {
    let mut receiver = receiver();
    let ack = arrive(&mut receiver, 1, 0).expect("out of order");
    assert_eq!((ack.cumulative, blocks(ack)), (0, vec![(1, 2)]));
    let ack = arrive(&mut receiver, 3, 0).expect("out of order");
    assert_eq!(blocks(ack), [(3, 4), (1, 2)]);
    let ack = arrive(&mut receiver, 0, 0).expect("fills a part of the gap");
    assert_eq!((ack.cumulative, blocks(ack)), (2000, vec![(3, 4)]));
    let ack = arrive(&mut receiver, 2, 0).expect("fills it");
    assert_eq!((ack.cumulative, blocks(ack)), (4000, vec![]));
    let ack = arrive(&mut receiver, 2, 0).expect("seen before");
    assert_eq!(ack.cumulative, 4000);
    assert_eq!(arrive(&mut receiver, 4, 0), None);
}

#[test]
fn sack_has_three_ranges_latest_first() {
    let mut receiver = receiver();
    for number in [2, 4, 6, 8] {
        let _ = arrive(&mut receiver, number, 0);
    }
    let ack = arrive(&mut receiver, 10, 0).unwrap();
    assert_eq!(blocks(ack), [(10, 11), (8, 9), (6, 7)]);
    // An old range grows and is the latest again, completely.
    let ack = arrive(&mut receiver, 5, 0).unwrap();
    assert_eq!(blocks(ack), [(4, 7), (10, 11), (8, 9)]);
    let ack = arrive(&mut receiver, 9, 0).unwrap();
    assert_eq!(blocks(ack), [(8, 11), (4, 7)]);
}

#[test]
fn data_beyond_the_window_is_dropped() {
    let mut receiver = receiver();
    let ack = receiver
        .on_segment(131_072, 1, false, 0)
        .expect("an answer");
    assert!(ack.sack.is_empty());
    let ack = receiver
        .on_segment(131_071, 1, false, 0)
        .expect("the last byte that fits");
    assert_eq!(ack.sack.len(), 1);
    assert_eq!(receiver.on_segment(0, 0, false, 0), None);
}

#[test]
fn mark_is_echoed_until_cwr() {
    let mut receiver = receiver();
    let _ = receiver.on_segment(0, MSS, true, 0);
    for number in 1..6 {
        if let Some(ack) = arrive(&mut receiver, number, 0) {
            assert!(ack.ece);
        }
    }
    receiver.on_cwr();
    let _ = arrive(&mut receiver, 6, 0);
    assert!(!receiver.current_ack().ece);
    // A mark on the packet with CWR counts.
    receiver.on_cwr();
    let ack = receiver.on_segment(7000, MSS, true, 0);
    assert!(ack.expect("the second").ece);
}
