//! Model checks of several senders in front of a queue: neither side sleeps for ever.
//!
//! The ring is the real one, on loom's atomics too:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib many::models`

use loom::thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

use super::{Intake, SubmitError, Submitter, Waiter, split};
use crate::limit::Fixed;
use crate::models_support::{Nothing, PACKET_BYTES, Submit, pair};
use crate::packet::{Frame, Packet};
use crate::qdisc::Fifo;
use crate::queue::{Queue, Sender};

/// Counts wake-ups. Not an atomic of loom, because it is read after all threads ended.
#[derive(Default)]
struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn packet() -> Packet {
    Packet::new(Frame::new(0), PACKET_BYTES)
}

fn queue() -> Sender<Submit, Fifo> {
    let (submit, reap, _) = pair(16);
    let queue = Queue::builder(submit, reap)
        .with_limit(Fixed::off())
        .with_qdisc(Fifo::new(16))
        .build_halves(0);
    queue.expect("valid settings").0
}

/// How a submitter and the owner decide to sleep.
#[derive(Clone, Copy)]
struct Waits {
    submitter: fn(&mut Waiter) -> bool,
    owner: fn(&Intake) -> bool,
}

const FOR_ROOM_OR_WORK: Waits = Waits {
    submitter: Waiter::must_wait,
    owner: Intake::must_wait,
};

/// Broken on purpose: no recheck.
const WITHOUT_RECHECK: Waits = Waits {
    submitter: |waiter| waiter.state.gate.close_unless(|| !waiter.list()),
    owner: |intake| intake.shared.work.must_wait(|| false),
};

/// Submits one packet. Returns the waiter if it sleeps, and its wake-ups.
fn submit(submitter: Submitter, waits: Waits) -> (Option<Waiter>, Arc<Wakes>) {
    let wakes = Arc::new(Wakes::default());
    let mut waiter = submitter.waiter(Waker::from(wakes.clone()));
    let mut packet = packet();
    // A submitter that is awake retries; two attempts keep the model small.
    for _ in 0..2 {
        packet = match submitter.offer(packet) {
            Ok(()) => return (None, wakes),
            Err(SubmitError::NoRoom(no_room)) => no_room.0,
            Err(SubmitError::Closed(_)) => panic!("the ring is open"),
        };
        if (waits.submitter)(&mut waiter) {
            let _ = packet.into_frame();
            return (Some(waiter), wakes);
        }
    }
    let _ = packet.into_frame();
    (None, wakes)
}

/// Empties the ring once.
fn drain(intake: &mut Intake, sender: &mut Sender<Submit, Fifo>) {
    intake.drain(sender, 0, &mut Nothing);
}

/// A full ring, two submitters, and an owner that empties the ring.
fn two_wait_for_room(waits: Waits) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let mut sender = queue();
        let (submitter, mut intake) = split(1, 2, Waker::noop().clone());
        submitter.offer(packet()).expect("there is room for one");
        let others = [submitter.clone(), submitter];
        let threads = others.map(|submitter| thread::spawn(move || submit(submitter, waits)));
        drain(&mut intake, &mut sender);
        drain(&mut intake, &mut sender);
        let ends = threads.map(|thread| thread.join().expect("it does not panic"));
        // Packets still in the ring wake them when they are taken.
        let later = !intake.is_empty();
        for (asleep, wakes) in ends {
            let woken = wakes.0.load(Ordering::Relaxed) > 0;
            assert!(
                asleep.is_none() || woken || later,
                "lost wake-up: asleep, and the ring is empty"
            );
        }
    });
}

/// One waiter sleeps and one was dropped, so a third must free the dropped one's place while the
/// owner empties the ring. The third submits nothing.
fn third_waiter_frees_a_dropped_place() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let mut sender = queue();
        let (submitter, mut intake) = split(1, 2, Waker::noop().clone());
        submitter.offer(packet()).expect("there is room for one");
        assert!(submitter.waiter(Waker::noop().clone()).must_wait());
        let wakes = [(); 2].map(|()| Arc::new(Wakes::default()));
        let [mut sleeping, mut third] = wakes
            .each_ref()
            .map(|wakes| submitter.waiter(Waker::from(wakes.clone())));
        assert!(sleeping.must_wait());
        let third = thread::spawn(move || (third.must_wait(), third));
        drain(&mut intake, &mut sender);
        let (third_sleeps, _third) = third.join().expect("it does not panic");
        let woken = wakes.map(|wakes| wakes.0.load(Ordering::Relaxed) > 0);
        assert!(intake.is_empty());
        assert!(
            woken[0] && (woken[1] || !third_sleeps),
            "lost wake-up: asleep, and the ring is empty"
        );
    });
}

/// An owner that goes to sleep while two submitters submit.
fn owner_waits_for_work(waits: Waits) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let mut sender = queue();
        let (submitter, mut intake) = split(2, 2, Waker::noop().clone());
        let others = [submitter.clone(), submitter];
        let threads = others.map(|submitter| {
            thread::spawn(move || {
                submitter.offer(packet()).expect("there is room for two");
            })
        });
        drain(&mut intake, &mut sender);
        let asleep = (waits.owner)(&intake);
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert!(
            !asleep || intake.shared.work.wakeups() > 0 || intake.is_empty(),
            "lost wake-up: the owner sleeps, and there is work"
        );
    });
}

#[test]
fn submitters_that_wait_for_room_are_always_woken() {
    two_wait_for_room(FOR_ROOM_OR_WORK);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn submitters_without_recheck_lose_a_wakeup() {
    two_wait_for_room(WITHOUT_RECHECK);
}

#[test]
fn waiter_is_woken_while_places_are_freed() {
    third_waiter_frees_a_dropped_place();
}

#[test]
fn waiting_owner_is_always_woken() {
    owner_waits_for_work(FOR_ROOM_OR_WORK);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn owner_without_recheck_loses_a_wakeup() {
    owner_waits_for_work(WITHOUT_RECHECK);
}
