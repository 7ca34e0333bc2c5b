//! The store of the caller's buffers.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use proptest::prelude::*;
use taut_path::buffers::Buffers;
use taut_path::pool::PoolError;
use taut_path::qdisc::Fifo;
use taut_path::{DropReason, Frame, Packet, PacketSink, Qdisc};

fn not_taken(index: u32) -> PoolError {
    PoolError::NotTaken { index }
}

#[test]
fn full_store_returns_the_buffer() {
    let buffers = Buffers::new(2);
    let first = buffers.put("first").expect("two are free");
    let _second = buffers.put("second").expect("one is free");
    assert_eq!(buffers.put("third"), Err("third"));
    assert_eq!(buffers.take(first), Ok("first"));
    assert!(buffers.put("third").is_ok());
    assert!(Buffers::new(0).put("one").is_ok(), "0 counts as 1");
}

#[test]
fn double_take_is_rejected() {
    let buffers = Buffers::new(3);
    let _other = buffers.put(6).expect("free");
    let frame = buffers.put(7).expect("free");
    let (index, stale) = (frame.index(), Frame::new(frame.index()));
    assert_eq!(buffers.take(frame), Ok(7));
    assert_eq!(buffers.with(&stale, |_| ()), Err(not_taken(index)));
    assert_eq!(buffers.take(stale), Err(not_taken(index)));
    let frames = 3;
    let unknown = PoolError::NoSuchFrame { index: 3, frames };
    assert_eq!(buffers.take(Frame::new(3)), Err(unknown));
    let text = format!("{buffers:?}");
    assert_eq!(text, "Buffers { frames: 3, free_frames: 2 }");
}

#[test]
fn lent_buffer_returns_after_a_panic() {
    let buffers = Buffers::new(1);
    let frame = buffers.put(vec![1]).expect("free");
    let mut forged = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = buffers.with(&frame, |buffer| {
            buffer.push(2);
            forged = Some(buffers.take(Frame::new(frame.index())));
            panic!("on purpose");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(forged, Some(Err(not_taken(0))), "it is lent");
    assert_eq!(buffers.take(frame), Ok(vec![1, 2]));
}

#[test]
fn sink_returns_each_buffer_with_its_end() {
    let buffers = Buffers::new(4);
    let packet = |number| Packet::new(buffers.put(number).expect("free"), 100);
    let (freed, dropped, unknown) = (packet(1), packet(2), packet(3));
    let mut ends = Vec::new();
    let mut sink = buffers.sink(|number, reason| ends.push((number, reason)));
    sink.freed(freed);
    sink.dropped(dropped, DropReason::QueueFull);
    sink.unknown_completion(unknown);
    sink.freed(Packet::new(Frame::new(0), 100)); // it ended before
    drop(sink);
    assert_eq!(ends, [(1, None), (2, Some(DropReason::QueueFull))]);
    let text = format!("{buffers:?}");
    assert_eq!(text, "Buffers { frames: 4, free_frames: 3 }");
}

#[test]
fn panic_in_a_sink_loses_no_frame() {
    let buffers = Buffers::new(2);
    let packet = || Packet::new(buffers.put(()).expect("free"), 100);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        buffers.sink(|(), _| panic!("on purpose")).freed(packet());
    }));
    assert!(panicked.is_err());
    let _packets = [packet(), packet()];
}

#[test]
fn two_threads_take_each_buffer_once() {
    const BUFFERS: u32 = 20_000;
    let buffers = &Buffers::new(5);
    let (sent, completed) = std::sync::mpsc::channel::<Frame>();
    let sum = thread::scope(|scope| {
        let taking = scope.spawn(move || {
            let numbers = completed.iter().map(|frame| buffers.take(frame));
            numbers.fold(0, |sum, number| sum + u64::from(number.expect("one owner")))
        });
        for number in 0..BUFFERS {
            let mut buffer = number;
            let frame = loop {
                match buffers.put(buffer) {
                    Ok(frame) => break frame,
                    Err(rejected) => buffer = rejected,
                }
                thread::yield_now();
            };
            sent.send(frame).expect("the other thread runs");
        }
        drop(sent);
        taking.join().expect("it does not panic")
    });
    assert_eq!(sum, u64::from(BUFFERS) * u64::from(BUFFERS - 1) / 2);
}

/// A step of a program: a packet to enqueue, a packet to complete, or a flush.
fn steps() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..10_u8, 1..300)
}

proptest! {
    #[test]
    fn each_buffer_is_returned_exactly_once(steps in steps()) {
        let buffers = Buffers::new(8);
        let ends = RefCell::new(Vec::new());
        let mut sink = buffers.sink(|number: usize, _reason| ends.borrow_mut().push(number));
        let mut qdisc = Fifo::new(6);
        let (mut in_flight, mut stored) = (Vec::new(), 0);
        for step in steps {
            match step {
                0..5 => {
                    let held = stored - ends.borrow().len();
                    match buffers.put(stored) {
                        Ok(frame) => {
                            stored += 1;
                            qdisc.enqueue(Packet::new(frame, 100), 0, &mut sink);
                        }
                        Err(number) => prop_assert_eq!((number, held), (stored, 8)),
                    }
                }
                5..7 => in_flight.extend(qdisc.dequeue(0, &mut sink)),
                7..9 => in_flight.pop().into_iter().for_each(|packet| sink.freed(packet)),
                _ => qdisc.drain(&mut |packet| sink.dropped(packet, DropReason::Flushed)),
            }
        }
        qdisc.drain(&mut |packet| sink.dropped(packet, DropReason::Flushed));
        in_flight.into_iter().for_each(|packet| sink.freed(packet));
        let mut ended = ends.borrow().clone();
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..stored).collect::<Vec<_>>());
    }
}
