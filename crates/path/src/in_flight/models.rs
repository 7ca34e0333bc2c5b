//! Model checks of the store between `submit` and `reap`: one thread stores, the other takes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib in_flight::models`

use loom::thread;

use std::vec::Vec;

use super::{FULL, InFlightSender, split};
use crate::driver::InRing;
use crate::packet::{Frame, Packet};
use crate::sharing::Word;

const PACKET_BYTES: u32 = 100;

type Put = fn(&mut InFlightSender, u32, Packet) -> Result<(), Packet>;

/// Broken on purpose: the completer sees the packet before it is written.
fn put_early(sender: &mut InFlightSender, key: u32, packet: Packet) -> Result<(), Packet> {
    let place = &sender.store.slots[key as usize];
    sender.store.put.add(packet.wire_bytes());
    place.state.store_release(FULL);
    place.write(packet.into_words());
    place.state.store_release(FULL);
    Ok(())
}

fn packet(frame: u32) -> Packet {
    Packet::new(Frame::new(frame), PACKET_BYTES)
}

/// The sender uses keys round-robin while it sees a free one, as an in-order ring does; the
/// completer takes all packets that it finds.
fn put_and_take(put_one: Put, keys: u32, packets: u32) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let (mut sender, mut completer) = split(keys);
        let putting = thread::spawn(move || {
            let (mut put, mut refused) = (0, 0);
            for _ in 0..packets {
                if sender.free() > 0 {
                    match put_one(&mut sender, put % keys, packet(put)) {
                        Ok(()) => put += 1,
                        Err(_) => refused += 1,
                    }
                }
            }
            (put, refused)
        });
        let (mut taken, mut held) = (Vec::new(), Vec::new());
        for _ in 0..packets {
            let packet = completer.take(taken.len() as u32 % keys);
            taken.extend(packet.map(|packet| packet.into_frame().index()));
            held.push(completer.in_ring().packets);
        }
        // Join first: a panic here would be hidden by the other thread.
        let (put, refused) = putting.join().expect("it does not panic");
        assert_eq!(refused, 0, "the key was reported free");
        assert!(
            held.iter().all(|&packets| packets <= keys),
            "{held:?} in the ring"
        );
        let (left, free) = (completer.in_ring(), completer.free());
        let in_order = taken.len() as u32;
        completer.take_all(&mut |packet| taken.push(packet.into_frame().index()));
        taken.sort_unstable();
        assert_eq!(
            taken,
            (0..put).collect::<Vec<_>>(),
            "not the packet put there"
        );
        assert_eq!(left.packets, put - in_order);
        assert_eq!(left.bytes, left.packets * PACKET_BYTES);
        assert_eq!(free + left.packets, keys);
    });
}

#[test]
fn free_key_stores_a_packet_and_loses_none() {
    put_and_take(InFlightSender::put, 1, 2);
}

#[test]
fn two_keys_in_turn_lose_nothing() {
    put_and_take(InFlightSender::put, 2, 3);
}

#[test]
#[should_panic(expected = "not the packet put there")]
fn early_publication_of_a_packet_is_detected() {
    put_and_take(put_early, 1, 2);
}

#[test]
fn put_under_a_used_key_returns_the_packet() {
    loom::model(|| {
        let (mut sender, mut completer) = split(1);
        let putting = thread::spawn(move || {
            let puts = [0, 1].map(|frame| sender.put(0, packet(frame)).err());
            puts.into_iter().flatten().count()
        });
        let mut taken = u32::from(completer.take(0).is_some());
        let refused = putting.join().expect("it does not panic") as u32;
        completer.take_all(&mut |_| taken += 1);
        assert_eq!(taken + refused, 2, "lost or doubled");
        assert_eq!(completer.in_ring(), InRing::default());
    });
}
