//! Several sending threads in front of one queue: the order of each is kept, nothing is lost, and
//! no wake-up is lost.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

use crate::support::{Books, SharedRing, Wakes, packet};
use taut_path::limit::Fixed;
use taut_path::qdisc::AnyQdisc;
use taut_path::qdisc::Fifo;
use taut_path::queue::many::{Intake, SubmitError, Submitter, Waiter, split as many};
use taut_path::{DropReason, Queue, Stop};

type Sender = taut_path::queue::Sender<SharedRing, Fifo>;
type Completer = taut_path::queue::Completer<SharedRing, Fixed>;

/// A queue over a ring of 64 slots, and the ring.
fn queue(limit: Fixed, waiting: u32, waker: Waker) -> (Sender, Completer, SharedRing) {
    let ring = SharedRing::new(64);
    let halves = Queue::builder(ring.clone(), ring.clone())
        .with_limit(limit)
        .with_qdisc(Fifo::new(waiting))
        .waker(waker)
        .build_halves(0);
    let (sender, completer, _) = halves.expect("valid settings");
    (sender, completer, ring)
}

#[test]
fn full_ring_returns_the_packet_and_wakes_later() {
    let work = Arc::new(Wakes::default());
    let room = Arc::new(Wakes::default());
    let (submitter, mut intake) = many(2, 1, Waker::from(work.clone()));
    let (mut sender, ..) = queue(Fixed::off(), 100, Waker::noop().clone());
    assert!(intake.must_wait(), "there is no work");
    let mut waiter = submitter.waiter(Waker::from(room.clone()));
    for frame in 0..2 {
        submitter.offer(packet(frame, 100)).expect("there is room");
    }
    assert_eq!(work.take(), 1, "woken for the first, awake for the second");
    let rejected = submitter.offer(packet(2, 100)).expect_err("it is full");
    assert!(matches!(rejected, SubmitError::NoRoom(_)));
    assert_eq!(rejected.into_packet().into_frame().index(), 2);
    assert!(waiter.must_wait());
    assert_eq!(room.take(), 0);
    let moved = intake.drain(&mut sender, 0, &mut Books::default());
    assert_eq!((moved, room.take()), (2, 1));
    assert!(!waiter.must_wait(), "there is room");
}

#[test]
fn full_discipline_leaves_packets_in_order() {
    let (submitter, mut intake) = many(8, 1, Waker::noop().clone());
    let (mut sender, mut completer, ring) = queue(Fixed::packets(1), 2, Waker::noop().clone());
    let mut books = Books::default();
    for frame in 0..8 {
        submitter.offer(packet(frame, 100)).expect("there is room");
    }
    for _ in 0..20 {
        let stop = intake.run(&mut sender, 0, &mut books);
        assert!(matches!(stop, Stop::Idle | Stop::Limit));
        ring.get().finish(1);
        let batch = completer.complete(1_000, &mut books);
        assert!(batch.expect("nothing is broken").counts.packets <= 1);
    }
    assert!(intake.is_empty());
    assert_eq!(books.freed, (0..8).collect::<Vec<_>>());
    assert!(books.dropped.is_empty());
}

#[test]
fn closed_queue_drops_its_packets_and_rejects_others() {
    let room = Arc::new(Wakes::default());
    let (submitter, mut intake) = many(2, 1, Waker::noop().clone());
    let mut waiter = submitter.waiter(Waker::from(room.clone()));
    for frame in 0..2 {
        submitter.offer(packet(frame, 100)).expect("there is room");
    }
    assert!(waiter.must_wait());
    let mut books = Books::default();
    intake.flush(&mut books);
    assert_eq!(
        books.dropped,
        [(0, DropReason::Flushed), (1, DropReason::Flushed)]
    );
    assert_eq!(room.take(), 1, "the waiter is woken");
    assert!(!waiter.must_wait(), "nothing to wait for");
    let rejected = submitter.offer(packet(2, 100)).expect_err("closed");
    assert!(matches!(rejected, SubmitError::Closed(_)), "{rejected}");
}

#[test]
fn sleepers_above_the_maximum_do_not_sleep() {
    let (submitter, _intake) = many(1, 1, Waker::noop().clone());
    submitter.offer(packet(0, 100)).expect("there is room");
    let mut first = submitter.waiter(Waker::noop().clone());
    let mut second = submitter.waiter(Waker::noop().clone());
    assert!(first.must_wait());
    assert!(!second.must_wait());
}

#[test]
fn packet_above_the_memory_limit_is_dropped() {
    let (submitter, mut intake) = many(4, 1, Waker::noop().clone());
    let ring = SharedRing::new(8);
    let qdisc = "fq_codel memory_limit 128k".parse::<AnyQdisc>();
    let queue = Queue::builder(ring.clone(), ring)
        .with_limit(Fixed::off())
        .qdisc(qdisc.expect("a valid discipline"))
        .build_halves(0);
    let (mut sender, _completer, _) = queue.expect("valid settings");
    let large = packet(0, 100).with_charge(1_000_000);
    for packet in [large, packet(1, 100)] {
        submitter.offer(packet).expect("there is room");
    }
    let mut books = Books::default();
    assert_eq!(intake.drain(&mut sender, 0, &mut books), 2);
    assert!(intake.is_empty(), "or the owner would run for ever");
    assert_eq!(books.dropped.len(), 1);
    assert_eq!(books.dropped[0].0, 0);
    assert_eq!(sender.backlog().packets, 1);
}

#[test]
fn closed_intake_wakes_all_and_flushes() {
    let room = Arc::new(Wakes::default());
    let (submitter, mut intake) = many(2, 2, Waker::noop().clone());
    let (mut sender, ..) = queue(Fixed::off(), 1, Waker::noop().clone());
    let offer = |frame| submitter.offer(packet(frame, 100));
    for frame in 0..2 {
        offer(frame).expect("there is room");
    }
    // One is in the discipline, one is held by the intake, two are in the ring.
    assert_eq!(intake.drain(&mut sender, 0, &mut Books::default()), 1);
    for frame in 2..4 {
        offer(frame).expect("there is room");
    }
    let mut waiters = [(); 2].map(|()| submitter.waiter(Waker::from(room.clone())));
    assert!(waiters.iter_mut().all(Waiter::must_wait));
    let mut books = Books::default();
    intake.flush(&mut books);
    drop(intake);
    assert_eq!(room.take(), 2);
    assert!(!waiters.iter_mut().any(Waiter::must_wait), "it is closed");
    let rejected = offer(4).expect_err("closed");
    assert!(matches!(rejected, SubmitError::Closed(_)), "{rejected}");
    assert_eq!(books.dropped, [1, 2, 3].map(|f| (f, DropReason::Flushed)));
}

#[test]
fn dropped_waiters_free_their_places_in_order() {
    let woken = [(); 3].map(|()| Arc::new(Wakes::default()));
    let (submitter, mut intake) = many(2, 3, Waker::noop().clone());
    let (mut sender, ..) = queue(Fixed::off(), 1, Waker::noop().clone());
    for frame in 0..2 {
        submitter.offer(packet(frame, 100)).expect("there is room");
    }
    let waiter = |wakes: &Arc<Wakes>| {
        let mut waiter = submitter.waiter(Waker::from(wakes.clone()));
        assert!(waiter.must_wait(), "no place left");
        waiter
    };
    let first = waiter(&woken[0]);
    for _ in 0..2 {
        drop(waiter(&Arc::default()));
    }
    let second = waiter(&woken[1]);
    let third = waiter(&woken[2]);
    let mut fourth = submitter.waiter(Waker::noop().clone());
    assert!(!fourth.must_wait(), "three places are taken");
    drop((first, fourth));
    // The discipline takes one and the intake holds the next, so the ring is empty.
    intake.drain(&mut sender, 0, &mut Books::default());
    assert_eq!([0, 1, 2].map(|index: usize| woken[index].take()), [0, 1, 1]);
    drop((second, third));
}

#[test]
fn dropped_waiter_passes_its_wake_up_on() {
    let woken = [(); 3].map(|()| Arc::new(Wakes::default()));
    let takes = || [0, 1, 2].map(|index: usize| woken[index].take());
    let (submitter, mut intake) = many(3, 3, Waker::noop().clone());
    let (mut sender, ..) = queue(Fixed::off(), 1, Waker::noop().clone());
    sender.enqueue(packet(9, 100), 0, &mut Books::default());
    for frame in 0..3 {
        submitter.offer(packet(frame, 100)).expect("there is room");
    }
    let mut waiters = woken.each_ref().map(|wakes| {
        let mut waiter = submitter.waiter(Waker::from(wakes.clone()));
        assert!(waiter.must_wait());
        Some(waiter)
    });
    // Drop a sleeper: its turn passes to the next.
    waiters[0] = None;
    // The discipline is full, so the intake holds one packet.
    assert_eq!(intake.drain(&mut sender, 0, &mut Books::default()), 0);
    assert_eq!(takes(), [0, 1, 0]);
    // Drop a woken waiter while there is still room.
    waiters[1] = None;
    assert_eq!(takes(), [0, 0, 1]);
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

const SUBMITTERS: u32 = 4;
const PACKETS: u32 = 20_000;

/// Submits frames in order and sleeps if there is no room. Returns the accepted packets, and how
/// often it slept.
fn submit_all(submitter: &Submitter, first_frame: u32) -> (u32, u64) {
    let mut waiter = submitter.waiter(Waker::from(Arc::new(Unpark(thread::current()))));
    let mut sleeps = 0;
    for number in 0..PACKETS {
        let mut next = packet(first_frame + number, 100);
        loop {
            next = match submitter.offer(next) {
                Ok(()) => break,
                Err(SubmitError::NoRoom(no_room)) => no_room.0,
                Err(SubmitError::Closed(_)) => return (number, sleeps),
            };
            if waiter.must_wait() {
                sleeps += 1;
                thread::park();
            }
        }
    }
    (PACKETS, sleeps)
}

/// Sends until `enough` packets are freed; sleeps if there is no work.
fn own(
    intake: &mut Intake,
    sender: &mut Sender,
    completer: &mut Completer,
    ring: &SharedRing,
    books: &mut Books,
    enough: usize,
) {
    while books.freed.len() < enough {
        let stop = intake.run(sender, 0, books);
        ring.get().finish(usize::MAX);
        let batch = completer.complete(1_000, books);
        let batch = batch.expect("nothing is broken");
        if stop == Stop::Idle && batch.counts.packets == 0 && intake.must_wait() {
            thread::park();
        }
    }
}

/// Runs submitters and an owner, and checks their final counts: (accepted, freed, dropped).
fn many_threads(enough: usize) {
    let owner = Waker::from(Arc::new(Unpark(thread::current())));
    let (submitter, mut intake) = many(16, SUBMITTERS, owner.clone());
    let (mut sender, mut completer, ring) = queue(Fixed::packets(8), 32, owner);
    let mut books = Books::default();
    let (taken, sleeps) = thread::scope(|scope| {
        let threads: Vec<_> = (0..SUBMITTERS)
            .map(|index| {
                let submitter = submitter.clone();
                scope.spawn(move || submit_all(&submitter, index * PACKETS))
            })
            .collect();
        own(
            &mut intake,
            &mut sender,
            &mut completer,
            &ring,
            &mut books,
            enough,
        );
        intake.flush(&mut books);
        let ends = threads
            .into_iter()
            .map(|thread| thread.join().expect("ends"));
        ends.fold((0, 0), |sum, end| (sum.0 + end.0, sum.1 + end.1))
    });
    // Submitters that were active when the ring was closed have returned by now.
    intake.flush(&mut books);
    sender.flush(0, &mut books);
    let in_ring = sender.counters().sent_packets as usize - books.freed.len();
    assert_eq!(in_ring, 0);
    assert_eq!(taken as usize, books.freed.len() + books.dropped.len());
    assert!(sleeps > 0, "no submitter had to wait");
    for index in 0..SUBMITTERS {
        let own = |frame: &&u32| *frame / PACKETS == index;
        let freed: Vec<u32> = books.freed.iter().filter(own).copied().collect();
        assert!(freed.is_sorted(), "submitter {index} stays in order");
    }
}

#[test]
fn packets_of_four_threads_stay_in_order() {
    many_threads((SUBMITTERS * PACKETS) as usize);
}

#[test]
fn queue_closed_under_load_loses_nothing() {
    many_threads(10_000);
}
