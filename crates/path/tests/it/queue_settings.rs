//! The settings of a queue, and packets that cannot be sent.

use crate::support::{Bench, Books, FakeRing, packet};
use taut_path::limit::{Dynamic, Fixed};
use taut_path::queue::{QueueConfig, QueueConfigError};
use taut_path::{AnyLimit, DropReason, Packet, Queue, Stop};

#[test]
fn impossible_settings_are_rejected() {
    type Edit = fn(&mut QueueConfig, &mut FakeRing);
    let zero = QueueConfigError::Zero;
    let cases: [(Edit, QueueConfigError); 7] = [
        (|c, _| c.restart_slots = Some(0), zero("restart_slots")),
        (|c, _| c.burst_packets = 0, zero("burst_packets")),
        (
            |c, _| c.reap_budget_packets = 0,
            zero("reap_budget_packets"),
        ),
        (
            |c, _| c.restart_slots = Some(17),
            QueueConfigError::RestartAboveRing {
                restart_slots: 17,
                slots: 16,
            },
        ),
        // The size of the ring comes from the driver, not from the settings.
        (
            |c, ring| {
                c.restart_slots = Some(9);
                ring.slots = 8;
            },
            QueueConfigError::RestartAboveRing {
                restart_slots: 9,
                slots: 8,
            },
        ),
        (
            |_, ring| ring.slots = 4,
            QueueConfigError::LargestAboveRing {
                slots_of_largest: 5,
                slots: 4,
            },
        ),
        (
            |_, ring| (ring.slots, ring.slots_per_packet) = (0, 0),
            QueueConfigError::LargestAboveRing {
                slots_of_largest: 0,
                slots: 0,
            },
        ),
    ];
    for (edit, error) in cases {
        let (mut config, mut ring) = (QueueConfig::default(), FakeRing::new(16));
        ring.slots_per_packet = 5;
        edit(&mut config, &mut ring);
        let rejected = Queue::builder_for(ring).config(config).build(0).err();
        assert_eq!(rejected, Some(error));
    }
    let crossed = taut_dql::Config {
        min_limit: 2,
        max_limit: 1,
        ..taut_dql::Config::default()
    };
    assert!(Dynamic::new(crossed).is_err());
}

#[test]
fn defaults_are_valid_for_every_ring() {
    for slots in 1..200 {
        let mut bench = Bench::new(Fixed::off(), slots);
        for _ in 0..3 {
            bench.enqueue(slots + 1, 60);
            assert_eq!(bench.run(), Stop::RingFull);
            assert_eq!(bench.in_ring(), slots as usize);
            assert!(bench.complete(usize::MAX).schedule);
            bench.queue.flush(0, &mut bench.books);
        }
    }
}

#[test]
fn offer_returns_the_packet_of_a_full_discipline() {
    let mut queue = Queue::builder_for(FakeRing::new(1))
        .qdisc("pfifo limit 2".parse().expect("it is well formed"))
        .limit(AnyLimit::off())
        .build(0)
        .expect("valid settings");
    let mut books = Books::default();
    let mut offered: Vec<Packet> = (0..4).rev().map(|frame| packet(frame, 60)).collect();
    let mut rejected = 0;
    while let Some(next) = offered.pop() {
        if let Err(no_room) = queue.offer(next, 0, &mut books) {
            rejected += 1;
            offered.push(no_room.0);
            let stop = queue.run(0, &mut books);
            assert_eq!(stop, Stop::RingFull);
            queue.device_mut().finish(1);
            queue.complete(1, &mut books).expect("nothing is broken");
        }
    }
    queue.run(2, &mut books);
    for _ in 0..3 {
        queue.device_mut().finish(1);
        queue.complete(3, &mut books).expect("nothing is broken");
        queue.run(3, &mut books);
    }
    assert!(rejected >= 1);
    assert_eq!(books.freed, [0, 1, 2, 3]);
    assert_eq!(books.dropped, []);
    assert_eq!(queue.sender_counters().enqueued_packets, 4);
}

#[test]
fn flush_drops_the_backlog_only() {
    let mut bench = Bench::new(Fixed::packets(2), 64);
    bench.enqueue(5, 60);
    bench.run();
    bench.queue.flush(0, &mut bench.books);
    let flushed: Vec<_> = [2, 3, 4].map(|f| (f, DropReason::Flushed)).into();
    assert_eq!(bench.books.dropped, flushed);
    assert_eq!(bench.queue.backlog().packets, 0);
    bench.complete(2);
    assert_eq!(bench.books.freed, [0, 1]);
    assert_eq!(bench.run(), Stop::Idle);
}

#[test]
fn uncountable_packet_is_dropped_with_its_reason() {
    let mut bench = Bench::new(Dynamic::default(), 64);
    let too_large = taut_dql::MAX_OBJECT + 1;
    bench.enqueue(1, too_large);
    bench.enqueue(1, 1_514);
    bench.run();
    assert_eq!(bench.books.dropped, [(0, DropReason::Uncountable)]);
    let counters = bench.queue.sender_counters();
    assert_eq!(counters.drops.of(DropReason::Uncountable), 1);
    assert_eq!(counters.drops.total(), 1);
    assert_eq!((counters.sent_packets, counters.sent_bytes), (1, 1_514));
    assert_eq!(bench.queue.snapshot().in_flight, 1_514);
}
