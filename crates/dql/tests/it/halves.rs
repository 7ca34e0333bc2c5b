//! The two-thread variant: how it is held, split and reset.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use taut_dql::{Config, Error, Shared, split};

static IN_A_STATIC: Shared = Shared::new();

#[test]
fn static_can_be_split_once() {
    let (mut sender, mut completer) =
        split(&IN_A_STATIC, Config::default(), 0).expect("the first split");
    let again = split(&IN_A_STATIC, Config::default(), 0);
    assert_eq!(again.err(), Some(Error::AlreadySplit));
    sender.queued(10).expect("an object");
    completer.completed(10, 1).expect("units in flight");
    let seen = (IN_A_STATIC.limit(), IN_A_STATIC.in_flight());
    assert_eq!(seen, (completer.limit(), completer.in_flight()));
}

#[test]
fn rejected_configuration_does_not_use_up_the_split() {
    let shared = Shared::default();
    let crossed = Config {
        min_limit: 2,
        max_limit: 1,
        ..Config::default()
    };
    assert_eq!(
        split(&shared, crossed, 0).err(),
        Some(Error::MinAboveMax {
            min_limit: 2,
            max_limit: 1
        })
    );
    assert!(split(&shared, Config::default(), 0).is_ok());
}

#[test]
fn halves_of_two_queues_cannot_be_reset_together() {
    let (one, other) = (Shared::new(), Shared::new());
    let config = Config {
        limit: 100,
        ..Config::default()
    };
    let (mut sender, completer) = split(&one, config, 0).expect("one");
    let (other_sender, mut other_completer) = split(&other, config, 0).expect("the other");
    sender.queued(7).expect("an object");
    let before = (completer.snapshot(), other_completer.snapshot());
    assert_eq!(
        other_completer.reset(&mut sender, 5),
        Err(Error::DifferentQueues)
    );
    assert_eq!((completer.snapshot(), other_completer.snapshot()), before);
    assert_eq!((completer.in_flight(), other_sender.in_flight()), (7, 0));
}

#[test]
fn each_reset_starts_an_epoch() {
    let shared = Shared::new();
    let (mut sender, mut completer) =
        split(&shared, Config::default(), 0).expect("the first split");
    for epoch in 1..=3 {
        sender.queued(500).expect("an object");
        completer
            .reset(&mut sender, epoch.into())
            .expect("both halves");
        let seen = (completer.snapshot().epoch, shared.in_flight());
        assert_eq!(seen, (epoch, 0));
        assert_eq!(
            completer.completed(1, 0),
            Err(Error::OverCompletion {
                units: 1,
                in_flight: 0
            })
        );
    }
}

/// Sends objects through a queue and checks that each completion finds its units in flight.
fn pump<S>(shared: S, observer: &Shared, objects: u32)
where
    S: core::ops::Deref<Target = Shared> + Clone + Send,
{
    let config = Config {
        hold_time_ns: 1000,
        limit: 2000,
        min_limit: 2000,
        ..Config::default()
    };
    let (mut sender, mut completer) = split(shared, config, 0).expect("the first split");
    let size = |object: u32| 1 + object.wrapping_mul(2_654_435_761) % 2000;
    let total: u64 = (0..objects).map(|object| u64::from(size(object))).sum();
    let is_finished = AtomicBool::new(false);
    let end = thread::scope(|scope| {
        scope.spawn(move || {
            for object in 0..objects {
                while !sender.has_room() {
                    thread::yield_now();
                }
                sender
                    .queued(size(object))
                    .expect("an object with room for it");
            }
        });
        let is_finished = &is_finished;
        let reaper = scope.spawn(move || {
            let (mut done, mut now_ns) = (0_u64, 0);
            while done < total {
                let in_flight = completer.in_flight();
                // A part of the units, so that all kinds of samples occur.
                let units = if now_ns % 3 == 0 {
                    in_flight
                } else {
                    in_flight / 2
                };
                completer.completed(units, now_ns).expect("units in flight");
                done += u64::from(units);
                now_ns += 1;
                thread::yield_now();
            }
            assert_eq!((completer.in_flight(), done), (0, total));
            is_finished.store(true, Ordering::Release);
            completer.snapshot()
        });
        scope.spawn(move || {
            while !is_finished.load(Ordering::Acquire) {
                assert!(observer.in_flight() <= total as u32);
                assert!(observer.limit() >= config.min_limit);
                thread::yield_now();
            }
            assert_eq!(observer.in_flight(), 0);
        });
        reaper.join().expect("no failed check")
    });
    assert_eq!(
        (end.num_queued, end.num_completed, end.in_flight),
        (total as u32, total as u32, 0)
    );
}

#[test]
fn two_threads_conserve_every_unit_held_by_arc() {
    let shared = Arc::new(Shared::new());
    pump(shared.clone(), &shared, 1_000_000);
}

#[test]
fn two_threads_conserve_every_unit_held_by_reference() {
    let shared = Shared::new();
    pump(&shared, &shared, 1_000_000);
}
