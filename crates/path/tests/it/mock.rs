//! The device that a test controls.

use std::thread;

use taut_path::driver::testing::mock::{self, MockCompletions, MockDevice, MockError, MockTx};
use taut_path::limit::AnyLimit;
use taut_path::queue::CompleteError;
use taut_path::{Completions, InRing, Queue, Stop, TxRing};

use crate::support::{Books, packet};

struct Played {
    queue: Queue<(MockTx, MockCompletions)>,
    device: MockDevice,
    books: Books,
}

fn play(slots: u32, packets: u32) -> Played {
    let (tx, completions, device) = mock::ring(slots);
    let mut queue = Queue::builder(tx, completions)
        .limit(AnyLimit::off())
        .build(0)
        .expect("valid settings");
    let mut books = Books::default();
    for frame in 0..packets {
        queue.enqueue(packet(frame, 100), 0, &mut books);
    }
    Played {
        queue,
        device,
        books,
    }
}

impl Played {
    fn run(&mut self) -> Stop<MockError> {
        self.queue.run(0, &mut self.books)
    }

    fn complete(&mut self) -> Result<u32, CompleteError<MockError>> {
        let completed = self.queue.complete(1_000, &mut self.books)?;
        Ok(completed.counts.packets)
    }

    fn sent(&self) -> Vec<u32> {
        self.device.sent().iter().map(|seen| seen.frame).collect()
    }
}

#[test]
fn device_sees_packets_after_the_doorbell() {
    let (mut tx, completions, device) = mock::ring(4);
    tx.submit(packet(5, 100), 0).expect("room");
    assert!(device.sent().is_empty(), "before the doorbell");
    tx.kick(0).expect("nothing is broken");
    assert_eq!(device.sent()[0].wire_bytes, 100);
    assert_eq!((tx.slots_free(), completions.slots_free()), (3, 3));
    assert_eq!(device.bursts(), [1]);
}

#[test]
fn packets_complete_in_the_order_of_the_test() {
    let mut played = play(8, 4);
    assert_eq!(played.run(), Stop::Idle);
    assert!(played.device.complete_at(2));
    assert!(!played.device.complete_at(3), "three are left");
    assert_eq!(played.device.complete(2), 2);
    assert_eq!(played.complete(), Ok(3));
    assert_eq!(played.books.freed, [2, 0, 1]);
    assert_eq!(played.sent(), [3]);
}

#[test]
fn packet_for_a_full_ring_is_rejected() {
    let (mut tx, ..) = mock::ring(1);
    tx.submit(packet(0, 1), 0).expect("room");
    let back = tx.submit(packet(1, 1), 0).expect_err("full");
    assert_eq!(back.into_frame().index(), 1);
}

#[test]
fn injected_failure_happens_once_with_its_text() {
    let mut played = play(8, 3);
    played.device.reject_next_submit();
    played.device.fail_next_kick("no carrier");
    assert_eq!(played.run(), Stop::Failed(MockError("no carrier".into())));
    assert_eq!(played.run(), Stop::Idle);
    assert_eq!((played.books.dropped.len(), played.sent()), (1, vec![1, 2]));
    played.device.complete(1);
    played.device.fail_next_reap("no interrupt");
    let failed = Err(CompleteError::Driver(MockError("no interrupt".into())));
    assert_eq!(played.complete(), failed);
    assert_eq!(played.books.freed, [1], "returned before it failed");
    assert_eq!(played.complete(), Ok(1), "reported by the next batch");
    assert_eq!(played.complete(), Ok(0));
}

#[test]
fn lost_packets_keep_their_slots_until_restored() {
    let mut played = play(4, 4);
    let _ = played.run();
    assert_eq!(
        (played.device.drop_completions(3), played.device.complete(9)),
        (3, 1)
    );
    assert_eq!(played.complete(), Ok(1));
    let held = InRing {
        packets: 3,
        bytes: 300,
    };
    assert_eq!(played.queue.device().1.in_ring(), Some(held));
    assert_eq!(played.device.restore_completions(), 3);
    assert_eq!(played.complete(), Ok(3));
}

#[test]
fn flushed_ring_returns_every_packet() {
    let mut played = play(4, 6);
    assert_eq!(played.run(), Stop::RingFull);
    played.device.drop_completions(1);
    played.device.complete(1);
    let flushed = played.device.flush();
    assert_eq!(flushed.len(), 4);
    played.queue.reset(10);
    assert_eq!(played.run(), Stop::Idle);
    assert_eq!(played.sent(), [4, 5]);
}

#[test]
fn device_can_run_on_its_own_thread() {
    const PACKETS: u32 = 500;
    let mut played = play(8, PACKETS);
    let device = played.device.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut finished = 0;
            while finished < PACKETS as usize {
                finished += device.complete(3);
                thread::yield_now();
            }
        });
        while played.books.freed.len() < PACKETS as usize {
            let _ = played.run();
            played.complete().expect("nothing is broken");
            thread::yield_now();
        }
    });
    assert!(played.books.freed.is_sorted());
}

#[test]
fn immediate_completion_needs_no_call() {
    let mut played = play(4, 3);
    played.device.complete_immediately(true);
    assert_eq!(played.run(), Stop::Idle);
    assert_eq!(played.complete(), Ok(3));
}
