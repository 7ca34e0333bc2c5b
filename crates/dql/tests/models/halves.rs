//! The two halves of a queue.

use loom::sync::Arc;
use loom::thread;
use taut_dql::{Completer, Config, Producer, Shared, split};

use crate::check;

/// Sizes that say their order: a total tells which object is the last it includes.
const OBJECTS: [u32; 3] = [1, 10, 100];

/// `std`'s `Arc` is `Deref + Clone`, and so is loom's.
type Halves = (Producer<Arc<Shared>>, Completer<Arc<Shared>>);

fn halves() -> (Arc<Shared>, Halves) {
    let shared = Arc::new(Shared::new());
    let halves = split(shared.clone(), Config::default(), 0).expect("the first split");
    (shared, halves)
}

#[test]
fn a_total_is_never_seen_without_its_object() {
    check(|| {
        let (_, (mut producer, completer)) = halves();
        let sender = thread::spawn(move || {
            for units in OBJECTS {
                producer.queued(units).expect("an object");
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
        sender.join().unwrap();
        assert_eq!(completer.snapshot().last_object, 100);
    });
}

#[test]
fn completions_never_overtake_and_the_room_is_right_in_the_end() {
    check(|| {
        let (shared, (mut producer, mut completer)) = halves();
        let sender = thread::spawn(move || {
            for units in [1, 10] {
                producer.queued(units).expect("an object");
                assert!(producer.in_flight() <= 11, "negative in flight");
            }
            producer
        });
        for now_ns in 0..2 {
            let units = completer.in_flight();
            assert!(units <= 11, "negative in flight");
            completer
                .completed(units, now_ns)
                .expect("what was in flight");
        }
        let producer = sender.join().unwrap();
        completer
            .completed(completer.in_flight(), 2)
            .expect("the rest");
        let end = completer.snapshot();
        assert_eq!((end.num_completed, end.in_flight), (11, 0));
        assert_eq!(
            (producer.room(), completer.room()),
            (end.limit as i32, end.limit as i32)
        );
        assert_eq!(shared.snapshot(), end);
    });
}

#[test]
fn an_observer_never_sees_more_completed_than_queued() {
    check(|| {
        let (shared, (mut producer, mut completer)) = halves();
        let sender = thread::spawn(move || producer.queued(5).expect("an object"));
        let reaper = thread::spawn(move || {
            let units = completer.in_flight();
            completer.completed(units, 0).expect("what was in flight");
        });
        let seen = shared.snapshot();
        assert!(seen.num_completed <= seen.num_queued, "{seen:?}");
        assert_eq!(seen.in_flight, seen.num_queued - seen.num_completed);
        sender.join().unwrap();
        reaper.join().unwrap();
    });
}
