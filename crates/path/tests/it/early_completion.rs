//! Queues with early completions, and their detection.

use proptest::prelude::*;
use taut_dql::MAX_LIMIT;
use taut_path::driver::testing::mock;
use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};
use taut_path::limit::AnyLimit;
use taut_path::pool::FramePool;
use taut_path::tunables::{Setting, Tunable};
use taut_path::{Event, Probe, Queue, Stop};

/// Records changes of the completion status.
#[derive(Default, Clone)]
struct StatusRecorder(std::sync::Arc<std::sync::Mutex<Vec<bool>>>);

impl Probe for StatusRecorder {
    fn event(&mut self, _now_ns: u64, event: Event<'_>) {
        if let Event::CompletionsValid(are_true) = event {
            self.0.lock().expect("whole").push(are_true);
        }
    }
}

#[test]
fn limit_is_disabled_during_early_completions() {
    let (tx, completions, device) = mock::ring(8);
    let mut pool = FramePool::new(64, 64);
    let statuses = StatusRecorder::default();
    let mut queue = Queue::builder(tx, completions)
        .limit(AnyLimit::packets(2))
        .probe(statuses.clone())
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

    // While completions are early, batches do not move the limit, and neither does a reset.
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
    assert_eq!(*statuses.0.lock().expect("whole"), [false, true]);
}

#[test]
fn monitor_shows_early_completions() {
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
    // A setting is checked against the rule's own settings, not against the disabled limit.
    watch
        .set(Setting {
            tunable: Tunable::LimitMax,
            value: 40,
        })
        .expect("allowed");
    device.set_completions_valid(true);
    completer.complete(2, &mut pool).expect("completes");
    assert_eq!(watch.snapshot().queue.limit, 40);
}

#[test]
fn small_early_burst_is_not_detected() {
    let mut detector = EarlyCompletionDetector::new();
    for _ in 0..100 {
        detector.after_doorbell(4, 0);
    }
    assert_eq!(detector.status(), CompletionStatus::Unknown);
}

#[test]
fn empty_doorbell_is_not_an_observation() {
    let mut detector = EarlyCompletionDetector::new();
    for _ in 0..10_000 {
        detector.after_doorbell(0, 0);
    }
    assert_eq!(detector.status(), CompletionStatus::Unknown);
}

#[test]
fn fast_device_that_holds_packets_is_valid() {
    let mut detector = EarlyCompletionDetector::new();
    for batch in 0..1_000 {
        detector.after_doorbell(32, u32::from(batch % 8 == 7));
    }
    assert_eq!(detector.status(), CompletionStatus::Valid);
}

#[test]
fn change_to_early_is_detected() {
    let mut detector = EarlyCompletionDetector::new();
    for _ in 0..8 {
        assert!(detector.after_doorbell(64, 64).limit_applies());
    }
    assert_eq!(detector.status(), CompletionStatus::Valid);
    // Sixteen times the initial evidence is required.
    for _ in 1..256 {
        assert_eq!(detector.after_doorbell(64, 0), CompletionStatus::Valid);
    }
    assert_eq!(detector.after_doorbell(64, 0), CompletionStatus::Early);
}

proptest! {
    /// A device that never holds packets is detected after a number of packets, in any bursts.
    #[test]
    fn device_that_never_holds_packets_is_early(bursts in prop::collection::vec(1_u32..100, 200)) {
        let mut detector = EarlyCompletionDetector::new();
        let (mut packets, mut doorbells) = (0, 0);
        for burst in bursts {
            packets += burst;
            doorbells += 1;
            let is_false = detector.after_doorbell(burst, 0) == CompletionStatus::Early;
            prop_assert_eq!(is_false, packets >= 1_000 && doorbells >= 16);
        }
    }

    /// A device that holds packets after every second doorbell is never detected as early.
    #[test]
    fn device_that_holds_packets_is_never_early(bursts in prop::collection::vec(1_u32..60, 200)) {
        let mut detector = EarlyCompletionDetector::new();
        for (number, burst) in bursts.into_iter().enumerate() {
            prop_assert!(detector.after_doorbell(burst, (number % 2) as u32).limit_applies());
        }
    }
}
