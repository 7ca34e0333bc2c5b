//! Completions that are handed to the limit at a fixed pace.

use crate::support::{Bench, FakeRing};
use taut_dql::{Config, Error};
use taut_path::limit::{Done, Dynamic, Limit, LimitCompleter};
use taut_path::queue::QueueConfig;
use taut_path::{Probe, Stop};

#[test]
fn an_over_report_counts_what_the_cadence_holds_as_reported() {
    let limit = Dynamic {
        config: Config {
            limit: 100_000,
            ..Config::default()
        },
        cadence_ns: 1_000_000,
    };
    let (mut sender, mut completer) = limit.split(0).expect("valid settings");
    let done = |bytes| Done { packets: 1, bytes };
    for _ in 0..3 {
        sender.queued(1_000).expect("countable");
    }
    assert_eq!(completer.completed(done(1_000), 10, false), Ok(()));
    assert_eq!(completer.completed(done(1_000), 20, false), Ok(()));
    assert_eq!(completer.snapshot().in_flight, 2_000, "1,000 are held back");
    assert_eq!(
        completer.completed(done(2_000), 30, false),
        Err(Error::OverCompletion {
            units: 2_000,
            in_flight: 1_000
        })
    );
    assert_eq!(completer.completed(done(1_000), 40, false), Ok(()));
    assert_eq!(completer.tick(2_000_000), Ok(()));
    assert_eq!(completer.snapshot().in_flight, 0);
}

#[test]
fn bytes_that_the_cadence_holds_always_come_with_a_wake_up_time() {
    const PERIOD_NS: u64 = 1_000_000;
    let limit = Dynamic {
        config: Config {
            limit: 5_000,
            max_limit: 5_000,
            ..Config::default()
        },
        cadence_ns: PERIOD_NS,
    };
    let mut bench = Bench::with(limit, FakeRing::new(64), QueueConfig::new(64), ());
    bench.enqueue(50, 1_000);
    assert_eq!(bench.run(), Stop::Limit);
    bench.complete(1);
    bench.run();
    // 5 of the 6 in flight stay below the limit: held back, and the queue stays stopped.
    let completed = bench.complete(5);
    assert_eq!((completed.done.packets, completed.schedule), (5, false));
    let wakeup_ns = bench.queue.next_wakeup().expect("bytes are pending");
    assert_eq!(wakeup_ns, 1_000 + PERIOD_NS);
    bench.now_ns = wakeup_ns - 1_000;
    assert!(bench.complete(0).schedule);
    assert_eq!(bench.queue.next_wakeup(), None);
    assert_eq!(bench.run(), Stop::Limit);
}

/// What was told of the limit and of starvation, with its time.
#[derive(Default)]
struct Told {
    limits: Vec<(u64, u32)>,
    starved: Vec<u64>,
}

impl Probe for Told {
    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        self.limits.push((now_ns, limit));
    }

    fn on_starved(&mut self, now_ns: u64) {
        self.starved.push(now_ns);
    }
}

#[test]
fn what_the_timer_hands_on_is_told_like_any_completion() {
    let limit = Dynamic {
        cadence_ns: 1_000_000,
        ..Dynamic::default()
    };
    let config = QueueConfig::new(64);
    let mut bench = Bench::with(limit, FakeRing::new(64), config, Told::default());
    bench.enqueue(50, 1_000);
    bench.run();
    bench.complete(1);
    bench.run();
    bench.complete(1);
    let told = bench.queue.probe().limits.len();
    let wakeup_ns = bench.queue.next_wakeup().expect("bytes are pending");
    bench.now_ns = wakeup_ns - 1_000;
    bench.complete(0);
    let limits = &bench.queue.probe().limits;
    assert_eq!(limits.len(), told + 1);
    assert_eq!(
        limits[told],
        (wakeup_ns, bench.queue.snapshot().limit),
        "the limit after the timer"
    );
}

#[test]
fn a_device_that_runs_dry_does_not_wait_for_the_cadence() {
    let limit = Dynamic {
        config: Config {
            limit: 5_000,
            max_limit: 5_000,
            ..Config::default()
        },
        cadence_ns: 1_000_000,
    };
    let config = QueueConfig::new(64);
    let mut bench = Bench::with(limit, FakeRing::new(64), config, Told::default());
    bench.enqueue(50, 1_000);
    bench.run();
    bench.complete(1);
    bench.run();
    bench.complete(2);
    assert_eq!(bench.queue.reaper().counters().starved, 0);
    assert_eq!(bench.queue.snapshot().in_flight, 6_000, "held back");
    assert!(bench.complete(4).schedule);
    assert_eq!(bench.in_ring(), 0);
    assert_eq!(bench.queue.reaper().counters().starved, 1);
    assert_eq!(bench.queue.probe().starved, [bench.now_ns]);
}
