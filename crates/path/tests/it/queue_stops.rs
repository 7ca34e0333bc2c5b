//! The reasons of stops, restarts, and doorbells.

use crate::support::{Bench, FakeRing};
use taut_path::limit::{Dynamic, Fixed};
use taut_path::queue::{QueueConfig, StopReason};
use taut_path::{Event, Probe, Stop};

#[test]
fn byte_limit_is_exceeded_by_one_packet() {
    let mut bench = Bench::new(Fixed::bytes(3_000), 64);
    bench.enqueue(10, 1_514);
    assert_eq!(bench.run(), Stop::Limit);
    // 1,514 leaves room, 3,028 does not.
    assert_eq!(bench.queue.in_flight(), 2 * 1_514);
    assert_eq!(bench.in_ring(), 2);
}

#[test]
fn room_is_checked_per_packet_of_a_burst() {
    let mut bench = Bench::new(Fixed::bytes(10_000), 64);
    bench.enqueue(10, 100);
    bench.enqueue(5, 9_500);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.queue.in_flight(), 10 * 100 + 9_500);
    assert_eq!(bench.queue.device().bursts, [11]);
}

#[test]
fn a_depth_in_packets_is_exact() {
    for depth in [1, 2, 7, 32] {
        let mut bench = Bench::new(Fixed::packets(depth), 64);
        bench.enqueue(100, 60);
        assert_eq!(bench.run(), Stop::Limit);
        assert_eq!(bench.in_ring(), depth as usize);
        assert_eq!(bench.queue.snapshot().limit, depth);
        bench.complete(1);
        assert_eq!(bench.run(), Stop::Limit);
        assert_eq!(bench.in_ring(), depth as usize);
    }
}

#[test]
fn limit_of_zero_admits_one_packet() {
    let mut bench = Bench::new(Fixed::bytes(0), 64);
    bench.enqueue(3, 1_514);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.in_ring(), 1);
}

#[test]
fn burst_has_one_doorbell_and_64_packets() {
    let mut bench = Bench::new(Fixed::off(), 1_024);
    bench.enqueue(150, 60);
    assert_eq!(bench.run(), Stop::Idle);
    assert_eq!(bench.queue.device().bursts, [64, 64, 22]);
    assert_eq!(bench.queue.sender_counters().kicks, 3);
}

#[test]
fn nothing_to_send_rings_no_doorbell() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    assert_eq!(bench.run(), Stop::Idle);
    bench.enqueue(4, 60);
    bench.run();
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.queue.device().bursts, [2]);
}

#[test]
fn limit_sets_only_the_stack_stop() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(4, 60);
    bench.run();
    assert!(bench.queue.stopped_by_stack());
    assert!(!bench.queue.stopped_by_driver());
    assert!(bench.complete(1).schedule);
    assert!(!bench.queue.stopped_by_stack());
    let counters = bench.queue.sender_counters();
    assert_eq!((counters.limit_stops, counters.ring_stops), (1, 0));
}

#[test]
fn full_ring_sets_only_the_driver_stop() {
    let mut bench = Bench::new(Fixed::off(), 8);
    bench.enqueue(20, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert!(bench.queue.stopped_by_driver());
    assert!(!bench.queue.stopped_by_stack());
    assert!(bench.complete(4).schedule);
    assert!(!bench.queue.stopped_by_driver());
    let counters = bench.queue.sender_counters();
    assert_eq!((counters.limit_stops, counters.ring_stops), (0, 1));
}

#[test]
fn running_queue_is_not_scheduled() {
    let mut bench = Bench::new(Fixed::off(), 64);
    bench.enqueue(4, 60);
    assert_eq!(bench.run(), Stop::Idle);
    assert!(!bench.complete(4).schedule);

    bench.enqueue(100, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert!(bench.complete(64).schedule);
    assert!(!bench.complete(0).schedule, "scheduled twice for one stop");
}

#[test]
fn full_ring_restarts_at_its_watermark() {
    let ring = FakeRing::new(16);
    let config = QueueConfig {
        restart_slots: Some(12),
        ..QueueConfig::default()
    };
    let mut bench = Bench::with(Fixed::off(), ring, config, ());
    bench.enqueue(40, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert!(!bench.complete(11).schedule);
    assert_eq!(bench.run(), Stop::RingFull, "11 free slots are not enough");
    assert!(bench.complete(1).schedule);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.queue.device().bursts, [16, 12]);
}

#[test]
fn queue_stops_without_slots_for_the_largest_packet() {
    let mut ring = FakeRing::new(10);
    ring.slots_per_packet = 3;
    let mut bench = Bench::with(Fixed::off(), ring, QueueConfig::default(), ());
    bench.enqueue(9, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.in_ring(), 3, "one free slot does not take a packet");
    assert!(bench.complete(2).schedule);
}

#[test]
fn ring_and_limit_stop_independently() {
    // 8 packets fill both; the limit is checked first.
    let ring = FakeRing::new(8);
    let config = QueueConfig {
        restart_slots: Some(6),
        ..QueueConfig::default()
    };
    let mut bench = Bench::with(Fixed::packets(8), ring, config, ());
    bench.enqueue(40, 60);
    assert_eq!(bench.run(), Stop::Limit);
    assert!(bench.complete(1).schedule, "the limit has room again");
    // One free slot is enough for a packet, because the driver stop is not set.
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.queue.sender_counters().ring_stops, 0);
    assert_eq!(bench.in_ring(), 8);
}

#[test]
fn empty_batch_does_not_change_the_limit() {
    let mut bench = Bench::new(Dynamic::default(), 64);
    bench.enqueue(2, 1_000);
    bench.run();
    bench.complete(1);
    bench.run();
    let before = bench.queue.snapshot();
    bench.complete(0);
    assert_eq!(
        bench.queue.snapshot(),
        before,
        "an empty batch is not a sample"
    );
}

#[test]
fn a_queue_of_empty_packets_stops_too() {
    let mut bench = Bench::new(Fixed::bytes(20), 64);
    bench.enqueue(40, 0);
    assert_eq!(bench.run(), Stop::Limit);
    // Each counts as one, and a limit admits one more.
    assert_eq!((bench.in_ring(), bench.queue.in_flight()), (21, 21));
    let completed = bench.complete(21);
    assert_eq!((completed.counts.packets, completed.counts.bytes), (21, 21));
    assert_eq!(bench.run(), Stop::Idle);
    bench.complete(19);
    assert_eq!(bench.books.freed, (0..40).collect::<Vec<_>>());
    assert_eq!(bench.queue.in_flight(), 0);
}

#[test]
fn stop_reasons_are_reported_once() {
    #[derive(Default)]
    struct Stops(Vec<StopReason>);
    impl Probe for Stops {
        fn event(&mut self, _now_ns: u64, event: Event<'_>) {
            if let Event::Stopped(reason) = event {
                self.0.push(reason);
            }
        }
    }
    let mut bench = Bench::with(
        Fixed::packets(10),
        FakeRing::new(8),
        QueueConfig::default(),
        Stops::default(),
    );
    bench.enqueue(100, 60);
    bench.run();
    bench.run();
    assert_eq!(bench.queue.probe().0, [StopReason::RingFull]);
}
