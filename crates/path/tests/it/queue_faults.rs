//! Failing doorbells and reaps, resets, and missing completions.

use crate::support::{Bench, Broken, FakeRing};
use taut_path::driver::testing::mock;
use taut_path::limit::{AnyLimit, CompletedCounts, Dynamic, Fixed};
use taut_path::pool::FramePool;
use taut_path::queue::{self, CompleteError, QueueConfig};
use taut_path::{Completions, DropReason, Event, Packet, Probe, Queue, Stop};

#[test]
fn failed_doorbell_is_retried_without_new_packets() {
    let mut bench = Bench::new(Fixed::off(), 64);
    bench.queue.device_mut().failing_kicks = 2;
    bench.enqueue(3, 60);
    assert_eq!(bench.run(), Stop::Failed(Broken));
    assert_eq!(bench.run(), Stop::Failed(Broken));
    assert_eq!(bench.run(), Stop::Idle);
    assert_eq!(bench.queue.device().bursts, [3]);
    assert_eq!(bench.queue.sender_counters().kicks, 1);
    assert_eq!(bench.run(), Stop::Idle);
    assert_eq!(bench.queue.device().bursts, [3], "needless doorbell");
}

#[test]
fn failed_doorbell_is_retried_while_blocked() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.queue.device_mut().failing_kicks = 1;
    bench.enqueue(4, 60);
    assert_eq!(bench.run(), Stop::Failed(Broken));
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.queue.device().bursts, [2]);
    assert!(bench.complete(2).schedule);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.complete(2).counts.packets, 2);
}

#[test]
fn failed_reap_keeps_packets_and_restart() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(4, 60);
    bench.run();
    bench.queue.device_mut().failing_reaps = 1;
    assert_eq!(bench.try_complete(2), Err(CompleteError::Driver(Broken)));
    assert_eq!(bench.books.freed, [0, 1]);
    assert_eq!(bench.queue.snapshot().in_flight, 0);
    // Nothing is left to complete: this call is the last chance to report the restart.
    assert!(bench.complete(0).schedule);
    assert!(!bench.complete(0).schedule, "reported_packets twice");
    assert_eq!(bench.run(), Stop::Limit);
}

#[test]
fn reset_restarts_the_queue_after_any_stop() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(4, 60);
    bench.run();
    bench.queue.reset(10);
    assert!(!bench.queue.stopped_by_stack());
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.in_ring(), 4);

    let mut bench = Bench::new(Fixed::off(), 2);
    bench.enqueue(4, 60);
    bench.run();
    assert!(bench.queue.stopped_by_driver());
    bench.queue.reset(10);
    assert!(!bench.queue.stopped_by_driver());
    // The stale packets still fill the ring, so the queue stops again.
    assert_eq!(bench.run(), Stop::RingFull);
    let completed = bench.complete(2);
    assert_eq!((completed.stale_packets, completed.schedule), (2, true));
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.complete(2).counts.packets, 2);
}

#[test]
fn stale_completions_never_reach_the_limit() {
    let mut bench = Bench::new(Dynamic::default(), 64);
    bench.enqueue(3, 1_000);
    bench.run();
    bench.queue.reset(5);
    bench.run();
    let before = bench.queue.snapshot();
    assert_eq!(before.in_flight, 1_000, "only packets sent after the reset");

    let completed = bench.complete(1);
    assert_eq!(
        (completed.counts, completed.stale_packets),
        (CompletedCounts::default(), 1)
    );
    assert_eq!(bench.books.freed, [0]);
    assert_eq!(bench.queue.snapshot(), before);

    let completed = bench.complete(1);
    assert_eq!(
        (completed.counts.bytes, completed.stale_packets),
        (1_000, 0)
    );
    let counters = bench.queue.completer_counters();
    assert_eq!((counters.stale_packets, counters.completed_packets), (1, 1));
}

#[test]
fn stale_and_current_packets_are_distinguished() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(6, 60);
    bench.run();
    bench.queue.reset(5);
    bench.run();
    let completed = bench.complete(3);
    assert_eq!((completed.stale_packets, completed.counts.packets), (2, 1));
    assert_eq!(bench.queue.snapshot().in_flight, 1);
}

#[test]
fn missing_completion_is_a_stall() {
    #[derive(Default)]
    struct Stalls(Vec<u64>);
    impl Probe for Stalls {
        fn event(&mut self, _now_ns: u64, event: Event<'_>) {
            if let Event::Stalled(stall) = event {
                self.0.push(stall.age_ns);
            }
        }
    }
    let config = QueueConfig {
        stall_threshold_ns: 1_000_000,
        ..QueueConfig::default()
    };
    let mut bench = Bench::with(
        Fixed::packets(3),
        FakeRing::new(64),
        config,
        Stalls::default(),
    );
    bench.now_ns = 5_000_000;
    bench.enqueue(9, 60);
    bench.run();
    bench.complete(1);
    assert_eq!(bench.queue.completer_counters().stalls, 0);
    bench.run();
    bench.now_ns += 2_000_000;
    bench.complete(0);
    let counters = bench.queue.completer_counters();
    assert_eq!(counters.stalls, 1);
    // Packet 1 was sent at 5 ms; it is 7.002 ms now.
    assert_eq!(counters.longest_stall_ns, 2_002_000);
    assert_eq!(bench.queue.probe().0, [2_002_000]);
    // A check without completions finds the same stall; completions end it.
    bench.complete(3);
    assert_eq!(bench.queue.completer_counters().stalls, 1);
}

/// While the reaps fail, `check_stall` reports it; the first batch that succeeds does, too,
/// although it ends the stall.
#[test]
fn stall_behind_failing_reaps_reaches_the_caller() {
    for (recovers, reported) in [("completes", true), ("reset", false), ("repair", false)] {
        let mut bench = Bench::new(Fixed::packets(2), 64);
        bench.enqueue(2, 60);
        bench.run();
        for _ in 0..20 {
            bench.now_ns += 100_000_000;
            bench.queue.device_mut().failing_reaps = 1;
            assert_eq!(bench.try_complete(0), Err(CompleteError::Driver(Broken)));
            let stall = bench.queue.check_stall(bench.now_ns);
            let is_late = bench.now_ns > 1_125_000_000;
            assert!(stall.is_some() || !is_late, "{} ns", bench.now_ns);
        }
        match recovers {
            "reset" => bench.queue.reset(bench.now_ns),
            "repair" => drop(bench.queue.repair(bench.now_ns)),
            _ => {}
        }
        let stalled = bench.complete(2).stalled;
        assert_eq!(stalled.is_some(), reported, "{recovers}: {stalled:?}");
        assert_eq!(bench.complete(0).stalled, None);
        assert_eq!(bench.queue.completer_counters().stalls, 1);
    }
}

#[test]
fn bytes_above_the_limit_range_are_counted() {
    // A limit in packets does not bound bytes.
    const BYTES: u32 = 1 << 31;
    let mut bench = Bench::new(Fixed::packets(3), 64);
    bench.enqueue(3, BYTES);
    bench.run();
    assert_eq!(bench.complete(3).counts.packets, 3);
    let sent = bench.queue.sender_counters().sent_bytes;
    assert_eq!(sent, 3 << 31);
    assert_eq!(bench.queue.completer_counters().completed_bytes, sent);
}

#[test]
fn budgeted_reap_reports_more_pending() {
    let config = QueueConfig {
        reap_budget_packets: 4,
        ..QueueConfig::default()
    };
    let mut bench = Bench::with(Fixed::off(), FakeRing::new(64), config, ());
    bench.enqueue(10, 60);
    bench.run();
    let rounds: Vec<_> = [bench.complete(10), bench.complete(0), bench.complete(0)]
        .iter()
        .map(|batch| (batch.counts.packets, batch.more_pending))
        .collect();
    assert_eq!(rounds, [(4, true), (4, true), (2, false)]);
    assert_eq!(bench.queue.snapshot().in_flight, 0);
}

#[test]
fn drops_are_counted_by_reason() {
    let mut drops = queue::Drops::default();
    drops.count(DropReason::QueueFull);
    drops.count(DropReason::Flushed);
    drops.count(DropReason::Flushed);
    let counts = DropReason::ALL.map(|reason| (reason.name(), drops.of(reason)));
    let expected = [
        ("queue_full", 1),
        ("memory_full", 0),
        ("waited_too_long", 0),
        ("uncountable", 0),
        ("device_refused", 0),
        ("flushed", 2),
    ];
    assert_eq!(counts, expected);
    assert_eq!(drops.total(), 3);
}

#[test]
fn failed_reap_is_reported_by_the_next_batch() {
    let (tx, completions, device) = mock::ring(8);
    let mut pool = FramePool::new(8, 64);
    let mut queue = Queue::builder(tx, completions)
        .limit(AnyLimit::off())
        .build(0)
        .expect("builds");
    for _ in 0..6 {
        queue.enqueue(pool.packet(b"hello").expect("free"), 0, &mut pool);
    }
    let _ = queue.run(0, &mut pool);
    let mut reported_packets = 0;
    for finished in [3, 2] {
        device.complete(finished);
        device.fail_next_reap("the bus is removed");
        assert!(queue.complete(1, &mut pool).is_err());
    }
    device.complete(1);
    let completed = queue.complete(2, &mut pool).expect("completes");
    reported_packets += completed.counts.packets;
    assert_eq!((reported_packets, completed.counts.bytes), (6, 30));
    let completed = queue.complete(3, &mut pool).expect("completes");
    assert_eq!(completed.counts.packets, 0, "reported_packets once");
    assert_eq!(queue.completer_counters().completed_packets, 6);
}

#[test]
fn packet_marked_stale_is_stale_without_a_reset() {
    let (tx, completions, device) = mock::ring(8);
    let mut pool = FramePool::new(8, 64);
    let mut queue = Queue::builder(tx, GivesUp(completions))
        .limit(AnyLimit::off())
        .build(0)
        .expect("builds");
    queue.enqueue(pool.packet(b"hello").expect("free"), 0, &mut pool);
    let _ = queue.run(0, &mut pool);
    device.complete(1);
    let completed = queue.complete(1, &mut pool).expect("completes");
    assert_eq!((completed.counts.packets, completed.stale_packets), (0, 1));
    assert_eq!(
        (queue.in_flight(), pool.free_frames()),
        (5, 8),
        "its bytes until a reset"
    );
    queue.reset(2);
    assert_eq!(queue.in_flight(), 0);
}

/// A driver that marks every packet stale.
struct GivesUp(mock::MockCompletions);

impl Completions for GivesUp {
    type Error = mock::MockError;

    fn slots_free(&self) -> u32 {
        self.0.slots_free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, mock::MockError> {
        self.0.reap(now_ns, budget_packets, &mut |mut packet| {
            packet.mark_stale();
            freed(packet);
        })
    }
}

/// Under each limit: the device is stopped for a minute, and then has its previous rate.
#[test]
fn ring_full_for_a_minute_loses_nothing() {
    const MINUTE_NS: u64 = 60_000_000_000;
    const STEP_NS: u64 = 1_000_000;
    for rule in ["off", "dql", "taut", "32p"] {
        let rule: AnyLimit = rule.parse().expect("a rule");
        let mut bench = Bench::new(rule, 64);
        let mut offered = 0;
        // First busy, so that the limit can adapt.
        for _ in 0..2_000 {
            bench.enqueue(8, 1_000);
            offered += 8;
            let _ = bench.run();
            let _ = bench.complete(8);
        }
        bench.enqueue(500, 1_000);
        offered += 500;
        let _ = bench.run();
        let (stopped_ns, in_ring) = (bench.now_ns, bench.in_ring());
        let before = bench.queue.sender_counters();
        let mut stalled = 0;
        while bench.now_ns < stopped_ns + MINUTE_NS {
            bench.now_ns += STEP_NS;
            assert!(matches!(bench.run(), Stop::Limit | Stop::RingFull));
            stalled += u32::from(bench.complete(0).stalled.is_some());
        }
        let after = bench.queue.sender_counters();
        assert_eq!((before.kicks, bench.in_ring()), (after.kicks, in_ring));
        assert_eq!(bench.queue.completer_counters().stalls, 1, "counted once");
        assert!(stalled > 50_000, "reported while it lasts: {stalled}");
        let mut rounds = 0;
        while bench.queue.backlog().packets > 0 || bench.in_ring() > 0 {
            let _ = bench.complete(8);
            let _ = bench.run();
            rounds += 1;
            assert!(rounds < 2 * offered / 8 + 100, "as fast as before");
        }
        bench.books.freed.sort_unstable();
        assert!(
            bench.books.freed.iter().copied().eq(0..offered),
            "each once"
        );
        assert!(bench.books.dropped.is_empty());
    }
}
