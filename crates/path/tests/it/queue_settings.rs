//! How a queue is set up, and what happens to packets that cannot go on.

use crate::support::{Bench, Books, FakeRing, packet};
use taut_path::limit::{Dynamic, Fixed};
use taut_path::queue::{QueueConfig, QueueConfigError, TxQueue};
use taut_path::{DropReason, Packet, Stop};

#[test]
fn settings_that_could_never_work_are_refused() {
    type Edit = fn(&mut QueueConfig);
    let cases: [(Edit, QueueConfigError); 5] = [
        (
            |c| c.restart_slots = 0,
            QueueConfigError::Zero("restart_slots"),
        ),
        (
            |c| c.train_packets = 0,
            QueueConfigError::Zero("train_packets"),
        ),
        (
            |c| c.reap_budget_packets = 0,
            QueueConfigError::Zero("reap_budget_packets"),
        ),
        (
            |c| c.restart_slots = 17,
            QueueConfigError::RestartAboveRing {
                restart_slots: 17,
                slots: 16,
            },
        ),
        (
            |c| c.slots = 4,
            QueueConfigError::LargestAboveRing {
                slots_of_largest: 5,
                slots: 4,
            },
        ),
    ];
    for (edit, error) in cases {
        let mut config = QueueConfig::new(16);
        edit(&mut config);
        let mut ring = FakeRing::new(16);
        ring.slots_per_packet = 5;
        let discipline = taut_path::qdisc::by_name("pfifo").expect("it is in the table");
        let refused = TxQueue::new(discipline, Fixed::off(), ring, (), config, 0).err();
        assert_eq!(refused, Some(error));
    }
    let crossed = taut_dql::Config {
        min_limit: 2,
        max_limit: 1,
        ..taut_dql::Config::default()
    };
    let limit = Dynamic {
        config: crossed,
        cadence_ns: 0,
    };
    let discipline = taut_path::qdisc::by_name("pfifo").expect("it is in the table");
    let (ring, config) = (FakeRing::new(16), QueueConfig::new(16));
    assert!(matches!(
        TxQueue::new(discipline, limit, ring, (), config, 0).err(),
        Some(QueueConfigError::Limit(_))
    ));
}

#[test]
fn the_default_settings_of_every_ring_are_valid() {
    for slots in 1..200 {
        let discipline = taut_path::qdisc::by_name("pfifo").expect("it is in the table");
        let (ring, config) = (FakeRing::new(slots), QueueConfig::new(slots));
        assert!(TxQueue::new(discipline, Fixed::off(), ring, (), config, 0).is_ok());
    }
}

#[test]
fn offer_gives_back_what_the_discipline_cannot_keep() {
    let discipline = taut_path::qdisc::by_name("pfifo limit 2").expect("it is well formed");
    let (ring, config) = (FakeRing::new(1), QueueConfig::new(1));
    let mut queue =
        TxQueue::new(discipline, Fixed::off(), ring, (), config, 0).expect("valid settings");
    let mut books = Books::default();
    let mut offered: Vec<Packet> = (0..4).rev().map(|frame| packet(frame, 60)).collect();
    let mut refused = 0;
    while let Some(next) = offered.pop() {
        if let Err(no_room) = queue.offer(next, 0, &mut books) {
            refused += 1;
            offered.push(no_room.0);
            queue.run(0, &mut books);
            queue.driver_mut().finish(1);
            queue.complete(1, &mut books).expect("nothing is broken");
        }
    }
    queue.run(2, &mut books);
    for _ in 0..3 {
        queue.driver_mut().finish(1);
        queue.complete(3, &mut books).expect("nothing is broken");
        queue.run(3, &mut books);
    }
    assert!(refused >= 1);
    assert_eq!(books.freed, [0, 1, 2, 3]);
    assert_eq!(books.dropped, []);
    assert_eq!(queue.sender().counters().enqueued_packets, 4);
}

#[test]
fn flush_drops_all_that_waits_and_nothing_in_the_ring() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(5, 60);
    bench.run();
    bench.queue.flush(0, &mut bench.books);
    let flushed: Vec<_> = [2, 3, 4].map(|f| (f, DropReason::Flushed)).into();
    assert_eq!(bench.books.dropped, flushed);
    assert_eq!(bench.queue.sender().backlog().packets, 0);
    bench.complete(2);
    assert_eq!(bench.books.freed, [0, 1]);
    assert_eq!(bench.run(), Stop::Idle);
}

#[test]
fn a_packet_that_no_limit_can_count_is_dropped_with_its_reason() {
    let mut bench = Bench::new(Dynamic::default(), 64);
    let too_large = taut_dql::MAX_OBJECT + 1;
    bench.enqueue(1, too_large);
    bench.enqueue(1, 1_514);
    bench.run();
    assert_eq!(bench.books.dropped, [(0, DropReason::Uncountable)]);
    let counters = bench.queue.sender().counters();
    assert_eq!(counters.drops.of(DropReason::Uncountable), 1);
    assert_eq!(counters.drops.total(), 1);
    assert_eq!((counters.sent_packets, counters.sent_bytes), (1, 1_514));
    assert_eq!(bench.queue.snapshot().in_flight, 1_514);
}
