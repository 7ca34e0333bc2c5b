//! The two halves of a queue.

use loom::sync::Arc;
use loom::thread;
use taut_dql::ledger::Ledger;
use taut_dql::sharing::Threads;
use taut_dql::sync::{AtomicU32, Ordering};
use taut_dql::{Completer, Config, Error, Sender, Shared, split};

use crate::check;

/// Sizes that encode their order: a total identifies the last object that it includes.
const OBJECTS: [u32; 3] = [1, 10, 100];

/// Both the `Arc` of `std` and that of loom are `Deref + Clone`.
type Halves = (Sender<Arc<Shared>>, Completer<Arc<Shared>>);

fn halves() -> (Arc<Shared>, Halves) {
    let shared = Arc::new(Shared::new());
    let halves = split(shared.clone(), Config::default(), 0).expect("the first split");
    (shared, halves)
}

#[test]
fn total_is_never_seen_without_its_object() {
    check(|| {
        let (_, (mut sender, completer)) = halves();
        let thread_of_sender = thread::spawn(move || {
            for units in OBJECTS {
                sender.queued(units).expect("an object");
            }
        });
        let seen = completer.snapshot();
        let objects_in_total = match seen.num_queued {
            0 => 0,
            1 => 1,
            11 => 2,
            111 => 3,
            other => panic!("a total of {other} was never queued"),
        };
        if objects_in_total > 0 {
            assert!(
                OBJECTS[objects_in_total - 1..].contains(&seen.last_object),
                "{seen:?}"
            );
        }
        thread_of_sender.join().unwrap();
        assert_eq!(completer.snapshot().last_object, 100);
    });
}

#[test]
fn completions_never_overtake_queued_units() {
    check(|| {
        let (shared, (mut sender, mut completer)) = halves();
        let thread_of_sender = thread::spawn(move || {
            for units in [1, 10] {
                sender.queued(units).expect("an object");
                assert!(sender.in_flight() <= 11, "negative in flight");
            }
            sender
        });
        for now_ns in 0..2 {
            let units = completer.in_flight();
            assert!(units <= 11, "negative in flight");
            completer.completed(units, now_ns).expect("units in flight");
        }
        let sender = thread_of_sender.join().unwrap();
        completer
            .completed(completer.in_flight(), 2)
            .expect("the rest");
        let end = completer.snapshot();
        assert_eq!((end.num_completed, end.in_flight), (11, 0));
        assert_eq!(
            (sender.room(), completer.room()),
            (end.limit as i32, end.limit as i32)
        );
        assert_eq!(
            (shared.limit(), shared.in_flight()),
            (end.limit, end.in_flight)
        );
    });
}

#[test]
fn observer_never_sees_more_completed_than_queued() {
    check(|| {
        let ledger = Arc::new(Ledger::<Threads>::new(0));
        let (of_sender, of_reaper) = (ledger.clone(), ledger.clone());
        let sender = thread::spawn(move || of_sender.queued(5).expect("an object"));
        let reaper = thread::spawn(move || {
            let units = of_reaper.completer_in_flight();
            of_reaper.batch(units, false, 0).expect("units in flight");
            of_reaper.completed(units, 0);
        });
        let completed = ledger.num_completed();
        let queued = ledger.num_queued();
        assert!(completed <= queued, "{completed} of {queued}");
        assert!(ledger.in_flight() <= 5, "negative in flight");
        sender.join().unwrap();
        reaper.join().unwrap();
    });
}

/// A failed send between two successful ones. The device has an object only after it was sent.
#[test]
fn failed_send_is_removed_while_a_completer_runs() {
    check(|| {
        let (_, (mut sender, mut completer)) = halves();
        let device = Arc::new(AtomicU32::new(0));
        let thread_of_sender = {
            let device = device.clone();
            thread::spawn(move || {
                sender.queued(1).expect("an object");
                device.store(1, Ordering::Release);
                sender.queued(10).expect("an object");
                sender.unqueue(10).expect("the device never saw it");
                sender.queued(100).expect("an object");
                device.store(101, Ordering::Release);
                sender
            })
        };
        let mut done = 0;
        for now_ns in 0..2 {
            let units = device.load(Ordering::Acquire) - done;
            completer.completed(units, now_ns).expect("what was sent");
            done += units;
            assert!(completer.in_flight() <= 110, "negative in flight");
        }
        let sender = thread_of_sender.join().unwrap();
        assert_eq!(completer.in_flight(), 101 - done);
        completer.completed(101 - done, 2).expect("the rest");
        let end = completer.snapshot();
        assert_eq!((end.num_queued, end.num_completed), (101, 101));
        assert_eq!((end.in_flight, end.last_object), (0, 100));
        assert_eq!(sender.room(), completer.room());
    });
}

/// The case that the documentation warns of: a level is read during a send that fails later. The
/// result is rejected until a repair, and correct after it.
#[test]
fn ledger_below_zero_is_rejected_until_repaired() {
    check(|| {
        let (_, (mut sender, mut completer)) = halves();
        let thread_of_sender = thread::spawn(move || {
            sender.queued(5).expect("an object");
            let taken_back = sender.unqueue(5);
            (sender, taken_back)
        });
        completer.observe_in_flight(0, 1).expect("an empty device");
        let (mut sender, taken_back) = thread_of_sender.join().unwrap();
        let below_zero = taken_back.is_ok() && completer.snapshot().num_completed == 5;
        let rejected = Error::OverCompletion {
            units: 0,
            in_flight: 0,
        };
        let expected = if below_zero { Err(rejected) } else { Ok(()) };
        assert_eq!((sender.in_flight(), completer.in_flight()), (0, 0));
        assert_eq!(completer.completed(0, 2), expected);
        let too_much = if below_zero { -5 } else { 0 };
        let repaired = completer.repair(&mut sender, 0, 3);
        assert_eq!(repaired, Ok(too_much));
        sender.queued(7).expect("an object");
        assert_eq!(completer.completed(7, 4), Ok(()));
    });
}
