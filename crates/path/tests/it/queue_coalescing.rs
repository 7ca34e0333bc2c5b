//! Coalesced completions.

use crate::support::{Bench, FakeRing};
use taut_dql::Config;
use taut_path::limit::Dynamic;
use taut_path::queue::QueueConfig;
use taut_path::{Event, Probe, Stop};

const PERIOD_NS: u64 = 1_000_000;

fn config() -> QueueConfig {
    QueueConfig {
        coalesce_ns: PERIOD_NS,
        ..QueueConfig::default()
    }
}

/// Linux's rule with a fixed limit from the first completion on.
fn at_most_5_000() -> Dynamic {
    let config = Config {
        limit: 5_000,
        max_limit: 5_000,
        ..Config::default()
    };
    Dynamic::new(config).expect("the bounds are in order")
}

#[test]
fn pending_bytes_have_a_wakeup_time() {
    let mut bench = Bench::with(at_most_5_000(), FakeRing::new(64), config(), ());
    bench.enqueue(50, 1_000);
    assert_eq!(bench.run(), Stop::Limit);
    bench.complete(1);
    bench.run();
    // 5 of the 6 in flight stay below the limit: pending, and the queue stays stopped.
    let completed = bench.complete(5);
    assert_eq!((completed.counts.packets, completed.schedule), (5, false));
    let wakeup_ns = bench.queue.next_wakeup().expect("bytes are pending");
    assert_eq!(wakeup_ns, 1_000 + PERIOD_NS);
    bench.now_ns = wakeup_ns - 1_000;
    assert!(bench.complete(0).schedule);
    assert_eq!(bench.run(), Stop::Limit);
}

/// Records limits and starvation with their times.
#[derive(Default)]
struct Recorder {
    limits: Vec<(u64, u32)>,
    starved: Vec<u64>,
}

impl Probe for Recorder {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Limit(limit) => self.limits.push((now_ns, limit)),
            Event::Starved => self.starved.push(now_ns),
            _ => {}
        }
    }
}

#[test]
fn timer_release_is_reported_like_any_completion() {
    let mut bench = Bench::with(
        Dynamic::default(),
        FakeRing::new(64),
        config(),
        Recorder::default(),
    );
    bench.enqueue(50, 1_000);
    bench.run();
    bench.complete(1);
    bench.run();
    bench.complete(1);
    let reported = bench.queue.probe().limits.len();
    let wakeup_ns = bench.queue.next_wakeup().expect("bytes are pending");
    bench.now_ns = wakeup_ns - 1_000;
    bench.complete(0);
    let limits = &bench.queue.probe().limits;
    assert_eq!(limits.len(), reported + 1);
    assert_eq!(
        limits[reported],
        (wakeup_ns, bench.queue.snapshot().limit),
        "the limit after the timer"
    );
}

#[test]
fn dry_device_does_not_wait_for_coalescing() {
    let mut bench = Bench::with(
        at_most_5_000(),
        FakeRing::new(64),
        config(),
        Recorder::default(),
    );
    bench.enqueue(50, 1_000);
    bench.run();
    bench.complete(1);
    bench.run();
    bench.complete(2);
    assert_eq!(bench.queue.completer_counters().starved, 0);
    assert_eq!(bench.queue.snapshot().in_flight, 6_000, "held back");
    assert!(bench.complete(4).schedule);
    assert_eq!(bench.in_ring(), 0);
    assert_eq!(bench.queue.completer_counters().starved, 1);
    assert_eq!(bench.queue.probe().starved, [bench.now_ns]);
}

#[test]
fn pending_completions_are_not_a_stall() {
    let mut bench = Bench::with(at_most_5_000(), FakeRing::new(64), config(), ());
    // Twice the stall threshold of a second, in which everything completes within 1 ms.
    for _ in 0..3_000 {
        bench.enqueue(3, 1_000);
        bench.run();
        bench.now_ns += 700_000;
        assert_eq!(bench.complete(2).stalled, None, "at {} ns", bench.now_ns);
        bench.run();
        assert_eq!(bench.complete(5).stalled, None, "at {} ns", bench.now_ns);
    }
    assert_eq!(bench.queue.completer_counters().stalls, 0);
}
