//! Model checks of the store between `submit` and `reap`: one thread puts, the other takes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models in_flight::`

use loom::thread;

use taut_path::in_flight::{InFlightCompleter, InFlightSender, split, split_that_frees_early};
use taut_path::{Frame, Packet};

const PACKET_BYTES: u32 = 100;

type Split = fn(u32) -> (InFlightSender, InFlightCompleter);

fn packet(frame: u32) -> Packet {
    Packet::new(Frame::new(frame), PACKET_BYTES)
}

/// The sender uses keys in turn while it knows of a free one, as the device of an in-order ring
/// does; the completer takes what it finds.
fn put_and_take(split: Split, keys: u32, packets: u32) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let (mut sender, mut completer) = split(keys);
        let putting = thread::spawn(move || {
            let mut put = 0;
            for _ in 0..packets {
                if sender.free() > 0 {
                    let kept = sender.put(put % keys, packet(put));
                    assert!(kept.is_ok(), "the key was said to be free");
                    put += 1;
                }
            }
            put
        });
        let mut taken = 0;
        for _ in 0..packets {
            if let Some(packet) = completer.take(taken % keys) {
                assert_eq!(
                    packet.into_frame().index(),
                    taken,
                    "not the packet put there"
                );
                taken += 1;
            }
            let held = completer.in_ring();
            assert!(held.packets <= keys, "{} in the ring", held.packets);
            assert_eq!(completer.free() + held.packets, keys);
        }
        let put = putting.join().expect("it does not panic");
        let held = completer.in_ring();
        assert_eq!(held.packets, put - taken);
        assert_eq!(held.bytes, held.packets * PACKET_BYTES);
        completer.take_all(&mut |packet| {
            let _ = packet.into_frame();
            taken += 1;
        });
        assert_eq!(taken, put, "lost or doubled");
    });
}

#[test]
fn a_key_said_to_be_free_takes_a_packet_and_none_is_lost() {
    put_and_take(split, 1, 2);
}

#[test]
fn two_keys_in_turn_lose_nothing() {
    put_and_take(split, 2, 3);
}

#[test]
#[should_panic(expected = "the key was said to be free")]
fn a_store_that_frees_a_key_before_it_is_empty_is_caught() {
    put_and_take(split_that_frees_early, 1, 2);
}

#[test]
fn a_put_under_a_key_in_use_keeps_one_packet_and_gives_the_other_back() {
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
        assert_eq!(completer.in_ring(), taut_path::InRing::default());
    });
}
