//! What a queue does where completions mean nothing, and how that is found out.

use proptest::prelude::*;
use taut_dql::MAX_LIMIT;
use taut_path::driver::testing::mock;
use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};
use taut_path::limit::AnyLimit;
use taut_path::pool::FramePool;
use taut_path::tunables::Setting;
use taut_path::{Event, Probe, Queue, Stop};

/// Hears what is said about completions.
#[derive(Default, Clone)]
struct Heard(std::sync::Arc<std::sync::Mutex<Vec<bool>>>);

impl Probe for Heard {
    fn event(&mut self, _now_ns: u64, event: Event<'_>) {
        if let Event::CompletionsValid(are_true) = event {
            self.0.lock().expect("whole").push(are_true);
        }
    }
}

#[test]
fn no_limit_holds_while_early_completions() {
    let (tx, completions, device) = mock::ring(8);
    let mut pool = FramePool::new(64, 64);
    let heard = Heard::default();
    let mut queue = Queue::builder(tx, completions)
        .limit(AnyLimit::packets(2))
        .probe(heard.clone())
        .build(0)
        .expect("builds");
    for _ in 0..20 {
        queue.enqueue(pool.packet(b"x").expect("free"), 0, &mut pool);
    }
    assert_eq!(queue.run(0, &mut pool), Stop::Limit);
    assert_eq!(queue.snapshot().limit, 2);

    device.set_completions_valid(false);
    let completed = queue.complete(1, &mut pool).expect("completes");
    assert!(completed.schedule, "there is room now");
    assert_eq!(queue.run(1, &mut pool), Stop::RingFull);
    let snapshot = queue.snapshot();
    assert!(snapshot.early_completions);
    assert_eq!((snapshot.limit, snapshot.in_flight), (MAX_LIMIT, 8));

    // A round while nothing is believed moves the limit nowhere, and neither does a reset.
    device.complete(8);
    queue.complete(2, &mut pool).expect("completes");
    assert_eq!(queue.run(2, &mut pool), Stop::RingFull);
    device.flush().into_iter().for_each(drop);
    queue.reset(3);
    assert_eq!(queue.snapshot().limit, MAX_LIMIT);

    device.set_completions_valid(true);
    queue.complete(4, &mut pool).expect("completes");
    assert_eq!(queue.snapshot().limit, 2);
    assert_eq!(queue.run(4, &mut pool), Stop::Limit);
    assert_eq!(device.sent().len(), 2);
    assert_eq!(*heard.0.lock().expect("whole"), [false, true]);
}

#[test]
fn another_thread_sees_that_early_completions() {
    let (tx, completions, device) = mock::ring(8);
    let mut pool = FramePool::new(64, 64);
    let halves = Queue::builder(tx, completions)
        .limit(AnyLimit::packets(2))
        .build_halves(0);
    let (mut sender, mut completer, watch) = halves.expect("builds");
    device.set_completions_valid(false);
    completer.complete(1, &mut pool).expect("completes");
    let seen = watch.snapshot().queue;
    assert!(seen.early_completions);
    assert_eq!(seen.limit, MAX_LIMIT);
    for _ in 0..20 {
        sender.enqueue(pool.packet(b"x").expect("free"), 1, &mut pool);
    }
    assert_eq!(sender.run(1, &mut pool), Stop::RingFull);
    // A setting is checked beside the rule's own, not beside what holds now.
    watch.set(Setting::LimitMax(40)).expect("allowed");
    device.set_completions_valid(true);
    completer.complete(2, &mut pool).expect("completes");
    assert_eq!(watch.snapshot().queue.limit, 40);
}

#[test]
fn a_small_burst_that_is_done_at_once_proves_nothing() {
    let mut detector = EarlyCompletionDetector::new();
    for _ in 0..100 {
        detector.after_doorbell(4, 0);
    }
    assert_eq!(detector.status(), CompletionStatus::Unknown);
}

#[test]
fn a_doorbell_that_moved_nothing_says_nothing() {
    let mut detector = EarlyCompletionDetector::new();
    for _ in 0..10_000 {
        detector.after_doorbell(0, 0);
    }
    assert_eq!(detector.status(), CompletionStatus::Unknown);
}

#[test]
fn a_fast_device_that_now_and_then_holds_something_is_believed() {
    let mut detector = EarlyCompletionDetector::new();
    for round in 0..1_000 {
        detector.after_doorbell(32, u32::from(round % 8 == 7));
    }
    assert_eq!(detector.status(), CompletionStatus::Valid);
}

#[test]
fn what_becomes_false_is_found_again() {
    let mut detector = EarlyCompletionDetector::new();
    for _ in 0..8 {
        assert!(detector.after_doorbell(64, 64).limit_applies());
    }
    assert_eq!(detector.status(), CompletionStatus::Valid);
    // Sixteen times as much is asked for as at first.
    for _ in 1..256 {
        assert_eq!(detector.after_doorbell(64, 0), CompletionStatus::Valid);
    }
    assert_eq!(detector.after_doorbell(64, 0), CompletionStatus::Early);
}

proptest! {
    /// A device that never holds anything is found out after as many packets, however they come.
    #[test]
    fn what_is_always_done_at_once_is_false(bursts in prop::collection::vec(1_u32..100, 200)) {
        let mut detector = EarlyCompletionDetector::new();
        let (mut packets, mut doorbells) = (0, 0);
        for burst in bursts {
            packets += burst;
            doorbells += 1;
            let is_false = detector.after_doorbell(burst, 0) == CompletionStatus::Early;
            prop_assert_eq!(is_false, packets >= 1_000 && doorbells >= 16);
        }
    }

    /// A device that holds something after every second doorbell is never called false.
    #[test]
    fn what_holds_something_is_never_false(bursts in prop::collection::vec(1_u32..60, 200)) {
        let mut detector = EarlyCompletionDetector::new();
        for (number, burst) in bursts.into_iter().enumerate() {
            prop_assert!(detector.after_doorbell(burst, (number % 2) as u32).limit_applies());
        }
    }
}
