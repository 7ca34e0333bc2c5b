//! Model checks of several senders in front of a queue: nobody sleeps for ever, on either side.
//!
//! The ring is the real one, on loom's atomics too:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models many::`

use loom::thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

use crate::support::{Nothing, PACKET_BYTES};
use taut_path::limit::Fixed;
use taut_path::qdisc::Fifo;
use taut_path::queue::many::{Intake, Refused, Submitter, split_checked};
use taut_path::queue::{QueueConfig, Sender, split};
use taut_path::{Frame, Packet};

/// Counts. Not one of loom's: that somebody was woken is looked at when all is done.
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

fn queue() -> Sender<Fixed> {
    let discipline = Box::new(Fifo::new(16));
    let halves = split(discipline, Fixed::off(), QueueConfig::new(16), 0);
    halves.expect("valid settings").0
}

/// Hands in one packet. Returns whether it sleeps, and its wake-ups.
fn submit<const LOOKS_AGAIN: bool>(submitter: Submitter<LOOKS_AGAIN>) -> (bool, Arc<Wakes>) {
    let wakes = Arc::new(Wakes::default());
    let mut waiter = submitter.waiter(Waker::from(wakes.clone()));
    let mut packet = packet();
    // One that is awake comes back again and again; the checker follows it twice.
    for _ in 0..2 {
        packet = match submitter.offer(packet) {
            Ok(()) => return (false, wakes),
            Err(Refused::NoRoom(no_room)) => no_room.0,
            Err(Refused::Closed(_)) => panic!("nobody closed it"),
        };
        if waiter.must_wait() {
            let _ = packet.into_frame();
            return (true, wakes);
        }
    }
    let _ = packet.into_frame();
    (false, wakes)
}

/// Takes out once what there is.
fn drain<const LOOKS_AGAIN: bool>(intake: &mut Intake<LOOKS_AGAIN>, sender: &mut Sender<Fixed>) {
    intake.drain(sender, 0, &mut Nothing, &mut ());
}

/// A full ring, two submitters that come to it, and an owner that empties it.
fn two_wait_for_room<const LOOKS_AGAIN: bool>() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let mut sender = queue();
        let (submitter, mut intake) = split_checked::<LOOKS_AGAIN>(1, 2, Waker::noop().clone());
        submitter.offer(packet()).expect("there is room for one");
        let others = [submitter.clone(), submitter];
        let threads = others.map(|submitter| thread::spawn(move || submit(submitter)));
        drain(&mut intake, &mut sender);
        drain(&mut intake, &mut sender);
        let ends = threads.map(|thread| thread.join().expect("it does not panic"));
        // What is still in the ring wakes them when it is taken.
        let later = !intake.is_empty();
        for (asleep, wakes) in ends {
            let woken = wakes.0.load(Ordering::Relaxed) > 0;
            assert!(
                !asleep || woken || later,
                "lost wake-up: asleep, and the ring is empty"
            );
        }
    });
}

/// An owner that goes to sleep while two submitters hand in.
fn owner_waits_for_work<const LOOKS_AGAIN: bool>() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let mut sender = queue();
        let (submitter, mut intake) = split_checked::<LOOKS_AGAIN>(2, 2, Waker::noop().clone());
        let others = [submitter.clone(), submitter];
        let threads = others.map(|submitter| {
            thread::spawn(move || {
                submitter.offer(packet()).expect("there is room for two");
            })
        });
        drain(&mut intake, &mut sender);
        let asleep = intake.must_wait();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert!(
            !asleep || intake.work_wakeups() > 0 || intake.is_empty(),
            "lost wake-up: the owner sleeps, and there is work"
        );
    });
}

#[test]
fn submitters_that_wait_for_room_are_always_woken() {
    two_wait_for_room::<true>();
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn submitters_that_do_not_look_again_sleep_for_ever() {
    two_wait_for_room::<false>();
}

#[test]
fn an_owner_that_waits_for_work_is_always_woken() {
    owner_waits_for_work::<true>();
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn an_owner_that_does_not_look_again_sleeps_for_ever() {
    owner_waits_for_work::<false>();
}
