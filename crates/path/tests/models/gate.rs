//! Model checks of the gate: every order in which two threads can observe reads and writes.
//!
//! The models use the product's own source, on loom's atomics:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models gate::`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use std::sync::Arc as StdArc;

use taut_dql::Config;
use taut_dql::sync::SingleWriterU64;
use taut_path::gate::Gate;
use taut_path::sharing::{CacheAligned, Sharing, Threads};

/// Atomics without the fence between a write and the read that follows it: broken on purpose, and
/// the check must detect it.
#[derive(Debug, Default)]
struct Unfenced;

impl Sharing for Unfenced {
    type Word = AtomicU32;
    type Wide = SingleWriterU64;
    type Line<T> = CacheAligned<T>;
    const SHARED: bool = true;

    fn full_fence() {}
}

/// Both threads have ended: no thread checks the gate again.
fn assert_not_lost(closed: bool, room: bool) {
    assert!(
        !(closed && room),
        "lost wake-up: closed, room, not scheduled"
    );
}

/// The sender fills a queue of limit 0 and stops, while the completer completes the object.
fn stack_stop<M: Sharing<Word: Send + Sync>>() {
    loom::model(|| {
        let shared = StdArc::new(taut_dql::Shared::new());
        let (mut sender, mut completer) =
            taut_dql::split(shared, Config::default(), 0).expect("the defaults are valid");
        sender.queued(1).expect("one unit is countable");
        let gate = Arc::new(Gate::<M>::new());
        let stops = {
            let gate = gate.clone();
            thread::spawn(move || gate.close_unless(|| sender.has_room()))
        };
        completer.completed(1, 1).expect("one unit is in flight");
        let opened = gate.open_if(|| completer.has_room());
        let stopped = stops.join().expect("the sender does not panic");

        assert_not_lost(gate.is_closed(), completer.has_room());
        // A sender whose gate stays closed relies on the completer to schedule it.
        assert!(opened || !stopped);
    });
}

/// The sender sends twice; the completer reaps in two batches.
fn stack_stop_twice<M: Sharing<Word: Send + Sync>>() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = StdArc::new(taut_dql::Shared::new());
        let config = Config {
            limit: 0,
            max_limit: 0,
            ..Config::default()
        };
        let (mut sender, mut completer) =
            taut_dql::split(shared, config, 0).expect("the bounds are in order");
        let gate = Arc::new(Gate::<M>::new());
        let device = Arc::new(AtomicU32::new(0));
        let sending = {
            let (gate, device) = (gate.clone(), device.clone());
            thread::spawn(move || {
                for sent in 1..=2 {
                    sender.queued(1).expect("one unit is countable");
                    device.store(sent, Ordering::Release);
                    if !sender.has_room() && gate.close_unless(|| sender.has_room()) {
                        return;
                    }
                }
            })
        };
        let mut finished = 0;
        for _ in 0..2 {
            let submitted = device.load(Ordering::Acquire);
            if submitted > finished {
                completer
                    .completed(submitted - finished, 1)
                    .expect("accounted for before the device saw it");
                finished = submitted;
                gate.open_if(|| completer.has_room());
            }
        }
        sending.join().expect("the sender does not panic");
        assert_not_lost(gate.is_closed(), completer.has_room());
    });
}

/// A full ring of two slots; the queue restarts when both are free.
fn driver_stop<M: Sharing<Word: Send + Sync>>() {
    const RESTART_SLOTS: u32 = 2;
    loom::model(|| {
        let gate = Arc::new(Gate::<M>::new());
        let free = Arc::new(AtomicU32::new(0));
        let sender = {
            let (gate, free) = (gate.clone(), free.clone());
            thread::spawn(move || gate.close_unless(|| free.load(Ordering::Relaxed) >= 1))
        };
        for reaped in 1..=2 {
            free.store(reaped, Ordering::Relaxed);
            gate.open_if(|| free.load(Ordering::Relaxed) >= RESTART_SLOTS);
        }
        sender.join().expect("the sender does not panic");
        assert_not_lost(
            gate.is_closed(),
            free.load(Ordering::Relaxed) >= RESTART_SLOTS,
        );
    });
}

#[test]
fn stack_stop_loses_no_wake_up() {
    stack_stop::<Threads>();
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn stack_stop_without_fences_loses_a_wake_up() {
    stack_stop::<Unfenced>();
}

#[test]
fn two_objects_lose_no_wakeup() {
    stack_stop_twice::<Threads>();
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn two_objects_without_fences_lose_a_wakeup() {
    stack_stop_twice::<Unfenced>();
}

#[test]
fn driver_stop_loses_no_wakeup() {
    driver_stop::<Threads>();
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn driver_stop_without_fences_loses_a_wake_up() {
    driver_stop::<Unfenced>();
}
