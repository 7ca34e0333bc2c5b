//! Broken doorbells, failed reaping, resets, wrong reports and late timers.

use crate::support::{Bench, Broken, FakeRing};
use taut_dql::Error;
use taut_path::limit::{Done, Dynamic, Fixed, Ladder, Limit, LimitCompleter, LimitSender, Need};
use taut_path::queue::{self, CompleteError, QueueConfig};
use taut_path::{DropReason, Probe, Stop};

#[test]
fn a_doorbell_that_failed_is_rung_again_also_with_nothing_new_to_send() {
    let mut bench = Bench::new(Fixed::off(), 64);
    bench.queue.driver_mut().failing_kicks = 2;
    bench.enqueue(3, 60);
    assert_eq!(bench.run(), Stop::Failed(Broken));
    assert_eq!(bench.run(), Stop::Failed(Broken));
    assert_eq!(bench.run(), Stop::Idle);
    assert_eq!(bench.queue.driver().trains, [3]);
    assert_eq!(bench.queue.sender().counters().kicks, 1);
    assert_eq!(bench.run(), Stop::Idle);
    assert_eq!(bench.queue.driver().trains, [3], "rung for nothing");
}

#[test]
fn a_doorbell_that_failed_is_rung_again_also_when_the_limit_has_no_room() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.queue.driver_mut().failing_kicks = 1;
    bench.enqueue(4, 60);
    assert_eq!(bench.run(), Stop::Failed(Broken));
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.queue.driver().trains, [2]);
    assert!(bench.complete(2).schedule);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.complete(2).done.packets, 2);
}

#[test]
fn a_failed_reaping_keeps_what_was_handed_out_and_hides_no_start() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(4, 60);
    bench.run();
    bench.queue.driver_mut().failing_reap = true;
    assert_eq!(bench.try_complete(2), Err(CompleteError::Driver(Broken)));
    assert_eq!(bench.books.freed, [0, 1]);
    assert_eq!(bench.queue.snapshot().in_flight, 0);
    // Nothing is left to complete: this call is the last chance to be told.
    assert!(bench.complete(0).schedule);
    assert!(!bench.complete(0).schedule, "told twice");
    assert_eq!(bench.run(), Stop::Limit);
}

#[test]
fn a_reset_starts_the_queue_again_whatever_stopped_it() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(4, 60);
    bench.run();
    bench.queue.reset(10);
    assert!(!bench.queue.sender().stopped_by_stack());
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.in_ring(), 4);

    let mut bench = Bench::new(Fixed::off(), 2);
    bench.enqueue(4, 60);
    bench.run();
    assert!(bench.queue.sender().stopped_by_driver());
    bench.queue.reset(10);
    assert!(!bench.queue.sender().stopped_by_driver());
    // The late packets still fill the ring: it stops by itself again.
    assert_eq!(bench.run(), Stop::RingFull);
    let completed = bench.complete(2);
    assert_eq!((completed.late_packets, completed.schedule), (2, true));
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.complete(2).done.packets, 2);
}

#[test]
fn late_completions_give_the_packet_back_and_never_reach_the_limit() {
    let mut bench = Bench::new(Dynamic::default(), 64);
    bench.enqueue(3, 1_000);
    bench.run();
    bench.queue.reset(5);
    bench.run();
    let before = bench.queue.snapshot();
    assert_eq!(before.in_flight, 1_000, "only what was sent since");

    let completed = bench.complete(1);
    assert_eq!(
        (completed.done, completed.late_packets),
        (Done::default(), 1)
    );
    assert_eq!(bench.books.freed, [0]);
    assert_eq!(bench.queue.snapshot(), before);

    let completed = bench.complete(1);
    assert_eq!((completed.done.bytes, completed.late_packets), (1_000, 0));
    let counters = bench.queue.reaper().counters();
    assert_eq!((counters.late_packets, counters.completed_packets), (1, 1));
}

#[test]
fn late_and_counted_packets_of_one_round_are_told_apart() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(6, 60);
    bench.run();
    bench.queue.reset(5);
    bench.run();
    let completed = bench.complete(3);
    assert_eq!((completed.late_packets, completed.done.packets), (2, 1));
    assert_eq!(bench.queue.snapshot().in_flight, 1);
}

#[test]
fn the_halves_of_two_queues_are_not_reset_together() {
    let discipline = || taut_path::qdisc::by_name("pfifo").expect("it is in the table");
    let config = QueueConfig::new(8);
    let (mut sender, _reaper) =
        queue::split(discipline(), Fixed::off(), config.clone(), 0).expect("valid settings");
    let (_sender, mut reaper) =
        queue::split(discipline(), Fixed::off(), config, 0).expect("valid settings");
    assert_eq!(
        queue::reset(&mut sender, &mut reaper, 1),
        Err(Error::NotTheSameQueue)
    );
}

/// Reports more to the limit than it was given, as a driver that counts wrongly would.
fn over_report<L: Limit>(limit: L) {
    let (mut sender, mut completer) = limit.split(0).expect("valid settings");
    sender.queued(1_514, 0).expect("countable");
    let before = completer.snapshot();
    let done = Done {
        packets: 2,
        bytes: 2 * 1_514,
    };
    assert!(matches!(
        completer.completed(done, 1_000, false),
        Err(Error::OverCompletion { .. })
    ));
    assert_eq!(completer.snapshot(), before);
    assert_eq!(completer.next_wakeup(), None);
    let done = Done {
        packets: 1,
        bytes: 1_514,
    };
    assert_eq!(completer.completed(done, 2_000, false), Ok(()));
}

#[test]
fn an_over_report_is_an_error_that_changes_nothing() {
    over_report(Fixed::off());
    over_report(Fixed::bytes(10_000));
    over_report(Fixed::packets(4));
    over_report(Dynamic::default());
    over_report(Need::default());
    over_report(Ladder::default());
    over_report(Dynamic {
        cadence_ns: 1_000_000,
        ..Dynamic::default()
    });
}

#[test]
fn a_device_that_reports_too_little_shows_as_a_stall() {
    #[derive(Default)]
    struct Stalls(Vec<u64>);
    impl Probe for Stalls {
        fn on_stall(&mut self, _now_ns: u64, stall: taut_dql::Stall) {
            self.0.push(stall.age_ns);
        }
    }
    let mut config = QueueConfig::new(64);
    config.stall_threshold_ns = 1_000_000;
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
    assert_eq!(bench.queue.reaper().counters().stalls, 0);
    bench.run();
    bench.now_ns += 2_000_000;
    bench.complete(0);
    let counters = bench.queue.reaper().counters();
    assert_eq!(counters.stalls, 1);
    // Packet 1 was sent at 5 ms; it is 7.002 ms now.
    assert_eq!(counters.longest_stall_ns, 2_002_000);
    assert_eq!(bench.queue.probe().0, [2_002_000]);
    // Seen again by the watch alone, it is still the same stall; completions end it.
    bench.complete(3);
    assert_eq!(bench.queue.reaper().counters().stalls, 1);
}

#[test]
fn more_bytes_in_a_round_than_a_limit_can_say_are_still_counted() {
    // A depth in packets does not bound bytes.
    const BYTES: u32 = 1 << 31;
    let mut bench = Bench::new(Fixed::packets(3), 64);
    bench.enqueue(3, BYTES);
    bench.run();
    assert_eq!(bench.complete(3).done.packets, 3);
    let sent = bench.queue.sender().counters().sent_bytes;
    assert_eq!(sent, 3 << 31);
    assert_eq!(bench.queue.reaper().counters().completed_bytes, sent);
}

#[test]
fn a_round_that_stops_at_its_budget_says_so_and_loses_nothing() {
    let mut config = QueueConfig::new(64);
    config.reap_budget_packets = 4;
    let mut bench = Bench::with(Fixed::off(), FakeRing::new(64), config, ());
    bench.enqueue(10, 60);
    bench.run();
    let rounds: Vec<_> = [bench.complete(10), bench.complete(0), bench.complete(0)]
        .iter()
        .map(|round| (round.done.packets, round.more))
        .collect();
    assert_eq!(rounds, [(4, true), (4, true), (2, false)]);
    assert_eq!(bench.queue.snapshot().in_flight, 0);
}

#[test]
fn the_counters_of_drops_keep_the_reasons_apart() {
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
        ("flushed", 2),
    ];
    assert_eq!(counts, expected);
    assert_eq!(drops.total(), 3);
}
