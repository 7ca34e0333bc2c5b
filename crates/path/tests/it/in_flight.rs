//! The storage between `submit` and `reap`.

use std::sync::mpsc;
use std::thread;

use proptest::prelude::*;
use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};
use taut_path::{Ecn, InRing, Packet, Segmentation};

use crate::support::packet;

fn frames(completer: &mut InFlightCompleter) -> Vec<u32> {
    let mut frames = Vec::new();
    completer.take_all(&mut |packet| frames.push(packet.into_frame().index()));
    frames
}

fn rejected(put: Result<(), Packet>) -> Option<u32> {
    put.err().map(|packet| packet.into_frame().index())
}

#[test]
fn packets_return_under_their_keys_in_any_order() {
    let (mut sender, mut completer) = in_flight::split(4);
    for key in 0..4 {
        assert_eq!(sender.put(key, packet(10 + key, 100)), Ok(()));
    }
    let taken = [2, 0, 3, 1].map(|key| completer.take(key).map(|p| p.into_frame().index()));
    assert_eq!(taken, [Some(12), Some(10), Some(13), Some(11)]);
    assert_eq!((sender.free(), completer.free()), (4, 4));
}

#[test]
fn absent_key_returns_nothing() {
    let (mut sender, mut completer) = in_flight::split(2);
    assert_eq!(completer.take(0), None, "never sent");
    sender.put(0, packet(7, 100)).expect("free");
    assert_eq!(completer.take(1), None, "another key");
    assert_eq!(completer.take(2), None, "no such key");
    assert!(completer.take(0).is_some());
    assert_eq!(completer.take(0), None, "completed twice");
    assert_eq!(completer.in_ring(), InRing::default());
    assert_eq!(sender.free(), 2);
}

#[test]
fn invalid_key_returns_the_packet() {
    let (mut sender, mut completer) = in_flight::split(1);
    sender.put(0, packet(7, 100)).expect("free");
    assert_eq!(rejected(sender.put(0, packet(8, 50))), Some(8));
    assert_eq!(rejected(sender.put(1, packet(9, 50))), Some(9));
    let held = InRing {
        packets: 1,
        bytes: 100,
    };
    assert_eq!(
        completer.in_ring(),
        held,
        "rejected packets are not counted"
    );
    assert_eq!(frames(&mut completer), [7]);
    assert_eq!(sender.put(0, packet(8, 50)), Ok(()));
}

#[test]
fn store_without_keys_is_empty() {
    let (mut sender, mut completer) = in_flight::split(0);
    assert_eq!(rejected(sender.put(0, packet(7, 1))), Some(7));
    assert_eq!((completer.take(0), sender.free()), (None, 0));
}

#[test]
fn taking_all_ends_every_packet_once() {
    let (mut sender, mut completer) = in_flight::split(8);
    for key in [6, 1, 3] {
        sender.put(key, packet(key, 100)).expect("free");
    }
    assert_eq!(frames(&mut completer), [1, 3, 6]);
    assert_eq!(frames(&mut completer), []);
    assert_eq!(completer.in_ring(), InRing::default());
    assert_eq!(sender.free(), 8);
}

#[test]
fn bytes_are_right_after_totals_wrap() {
    let (mut sender, mut completer) = in_flight::split(2);
    for _ in 0..5 {
        sender.put(0, packet(0, 1 << 30)).expect("free");
        sender.put(1, packet(1, 7)).expect("free");
        assert!(completer.take(0).is_some());
        assert_eq!(completer.in_ring().bytes, 7);
        assert!(completer.take(1).is_some());
    }
}

#[test]
fn packet_returns_with_all_its_fields() {
    let all = |frame| {
        let mut packet = packet(frame, 65_000).with_charge(70_000);
        packet.flow = 0xDEAD_BEEF;
        packet.segmentation = Segmentation::new(66, 1_448);
        packet.priority = 13;
        packet.set_ecn(Ecn::Marked);
        packet
    };
    let (mut sender, mut completer) = in_flight::split(1);
    sender.put(0, all(u32::MAX)).expect("free");
    assert_eq!(completer.take(0), Some(all(u32::MAX)));
}

/// Completes `packets` packets in pairs, each pair reversed, on the other thread, and sends the
/// free keys. Returns the sum of the frames.
fn finish(
    mut completer: InFlightCompleter,
    sent: &mpsc::Receiver<u32>,
    freed: &mpsc::Sender<u32>,
) -> u64 {
    let mut sum = 0;
    while let (Ok(first), Ok(second)) = (sent.recv(), sent.recv()) {
        for key in [second, first] {
            let packet = completer.take(key).expect("it was sent");
            assert!(completer.in_ring().packets <= completer.keys());
            sum += u64::from(packet.into_frame().index());
            freed.send(key).expect("the sender listens");
        }
    }
    assert_eq!(completer.in_ring(), InRing::default());
    sum
}

fn send(
    mut sender: InFlightSender,
    packets: u32,
    sent: mpsc::Sender<u32>,
    freed: &mpsc::Receiver<u32>,
) {
    for frame in 0..packets {
        let key = freed.recv().expect("the completer runs");
        sender.put(key, packet(frame, 60)).expect("it was freed");
        sent.send(key).expect("the completer listens");
    }
}

#[test]
fn two_threads_neither_lose_nor_duplicate() {
    const PACKETS: u32 = 20_000;
    let (sender, completer) = in_flight::split(6);
    let (sent, to_finish) = mpsc::channel();
    let (freed, to_send) = mpsc::channel();
    (0..6).for_each(|key| freed.send(key).expect("open"));
    let sum = thread::scope(|scope| {
        let finishing = scope.spawn(move || finish(completer, &to_finish, &freed));
        send(sender, PACKETS, sent, &to_send);
        drop(to_send.iter().take(6).collect::<Vec<_>>());
        finishing.join().expect("it does not panic")
    });
    assert_eq!(sum, u64::from(PACKETS) * u64::from(PACKETS - 1) / 2);
}

proptest! {
    #[test]
    fn store_equals_a_table(steps in prop::collection::vec((any::<bool>(), 0u32..10), 1..200)) {
        let (mut sender, mut completer) = in_flight::split(8);
        let mut table = [None; 8];
        for (number, (puts, key)) in (0..).zip(steps) {
            let entry = table.get_mut(key as usize);
            if puts {
                let fits = entry.as_ref().is_some_and(|entry| entry.is_none());
                let put = sender.put(key, packet(number, number + 1));
                prop_assert_eq!(put.is_ok(), fits);
                if let (true, Some(entry)) = (fits, entry) {
                    *entry = Some(number);
                }
            } else {
                let taken = completer.take(key).map(|packet| packet.into_frame().index());
                prop_assert_eq!(taken, entry.and_then(Option::take));
            }
            let held = table.iter().flatten();
            let expected = InRing {
                packets: held.clone().count() as u32,
                bytes: held.map(|number| number + 1).sum(),
            };
            prop_assert_eq!(completer.in_ring(), expected);
            prop_assert_eq!(sender.free(), 8 - expected.packets);
        }
    }
}
