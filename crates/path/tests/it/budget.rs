//! A budget bounds the sum of several queues, starves none, and shares released room.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

use crate::support::{Books, Broken, SharedRing, Wakes, packet};
use taut_dql::Config;
use taut_path::budget::{self, Budget, Member};
use taut_path::limit::{CompletionBatch, Dynamic, Fixed, Limit};
use taut_path::qdisc::Fifo;
use taut_path::queue::{Completer, QueueConfigError, Sender};
use taut_path::{AnyLimit, Queue, QueueConfig, Stop};

const BYTES: u32 = 1_000;

/// Both halves of a queue, and its ring.
struct Joined {
    sender: Sender<SharedRing, Fifo, (), Member>,
    completer: Completer<SharedRing, Fixed, (), Member>,
    ring: SharedRing,
}

struct Device {
    budget: Budget,
    queues: Vec<Joined>,
    wakes: Vec<Arc<Wakes>>,
    books: Books,
    now_ns: u64,
    frames: u32,
}

impl Device {
    fn new(rule: AnyLimit, own_limits: &[Fixed], slots: u32) -> Self {
        Self::every(0, rule, own_limits, slots)
    }

    /// A device whose rule receives a batch once per `interval_ns`.
    fn every(interval_ns: u64, rule: AnyLimit, own_limits: &[Fixed], slots: u32) -> Self {
        let wakes: Vec<Arc<Wakes>> = own_limits.iter().map(|_| Arc::default()).collect();
        let rings: Vec<SharedRing> = own_limits.iter().map(|_| SharedRing::new(slots)).collect();
        let own = own_limits.iter().zip(&wakes).zip(&rings);
        let queues = own.map(|((&limit, wakes), ring)| {
            Queue::builder(ring.clone(), ring.clone())
                .with_limit(limit)
                .with_qdisc(Fifo::new(10_000))
                .waker(Waker::from(wakes.clone()))
        });
        let joined = budget::attach(rule, interval_ns, queues.collect(), 0);
        let (budget, halves) = joined.expect("the rule counts bytes");
        let queues = halves.into_iter().zip(rings);
        let queues = queues.map(|((sender, completer, _), ring)| Joined {
            sender,
            completer,
            ring,
        });
        Self {
            budget,
            queues: queues.collect(),
            wakes,
            books: Books::default(),
            now_ns: 0,
            frames: 0,
        }
    }

    fn enqueue(&mut self, queue: usize, packets: u32) {
        for _ in 0..packets {
            let packet = packet(self.frames, BYTES);
            self.frames += 1;
            self.queues[queue]
                .sender
                .enqueue(packet, self.now_ns, &mut self.books);
        }
    }

    /// Runs a queue as an owner does: arms the waker when it is stopped.
    fn run(&mut self, queue: usize) -> Stop<Broken> {
        loop {
            let stop = self.queues[queue].sender.run(self.now_ns, &mut self.books);
            let stopped = matches!(stop, Stop::Limit | Stop::RingFull);
            if !stopped || self.queues[queue].sender.must_wait() {
                return stop;
            }
        }
    }

    fn woken(&self, queue: usize) -> bool {
        self.wakes[queue].take() > 0
    }

    /// Completes packets of one queue and interrupts; every woken queue runs.
    fn complete(&mut self, queue: usize, packets: usize) {
        self.now_ns += 1_000;
        self.queues[queue].ring.get().finish(packets);
        let round = self.queues[queue]
            .completer
            .complete(self.now_ns, &mut self.books);
        if round.expect("nothing is broken").schedule {
            self.run(queue);
        }
        while let Some(woken) = (0..self.queues.len()).find(|&queue| self.woken(queue)) {
            self.run(woken);
        }
    }

    fn in_flight(&self, queue: usize) -> u32 {
        self.queues[queue].completer.snapshot().in_flight
    }

    fn sum(&self) -> u32 {
        (0..self.queues.len())
            .map(|queue| self.in_flight(queue))
            .sum()
    }
}

/// `count` queues with own limits of 100 packets each, under a budget of 10.
fn ten_packets_for(count: usize) -> Device {
    let own = vec![Fixed::bytes(100 * BYTES); count];
    Device::new(AnyLimit::bytes(10 * BYTES), &own, 128)
}

#[test]
fn queues_exceed_the_budget_by_one_object_each() {
    let mut device = ten_packets_for(8);
    for queue in 0..8 {
        device.enqueue(queue, 50);
        assert_eq!(device.run(queue), Stop::Limit);
    }
    // 10, one more for the soft limit, and one for each queue that found no room.
    assert_eq!(device.in_flight(0), 11 * BYTES);
    assert_eq!(device.sum(), 18 * BYTES);
    assert_eq!(device.budget.in_flight_bytes(), device.sum());
}

#[test]
fn single_queue_may_use_the_whole_budget() {
    let own = [Fixed::bytes(3 * BYTES), Fixed::bytes(100 * BYTES)];
    let mut device = Device::new(AnyLimit::bytes(10 * BYTES), &own, 128);
    for queue in 0..2 {
        device.enqueue(queue, 50);
        device.run(queue);
    }
    assert_eq!(device.in_flight(0), 4 * BYTES);
    assert_eq!(device.in_flight(1), 7 * BYTES);
}

#[test]
fn completion_wakes_a_waiting_queue() {
    let mut device = ten_packets_for(2);
    device.enqueue(0, 11);
    assert_eq!(device.run(0), Stop::Limit);
    device.enqueue(1, 5);
    assert_eq!(device.run(1), Stop::Limit);
    assert_eq!(device.in_flight(1), BYTES, "it may always send one");
    device.complete(0, 5);
    assert_eq!(device.in_flight(1), 5 * BYTES);
    assert_eq!(device.queues[1].sender.backlog().packets, 0);
}

#[test]
fn idle_queue_passes_the_room_on() {
    let mut device = ten_packets_for(3);
    device.enqueue(0, 11);
    device.run(0);
    device.enqueue(1, 2);
    device.enqueue(2, 2);
    device.run(1);
    device.run(2);
    device.queues[1].sender.flush(0, &mut device.books);
    // Room for two: queues 0 and 1 are first in line and have nothing to send.
    device.complete(0, 4);
    assert_eq!(device.in_flight(2), 2 * BYTES);
}

#[test]
fn queue_with_a_full_ring_blocks_no_other() {
    let mut device = ten_packets_for(3);
    device.enqueue(0, 50);
    device.run(0);
    device.queues[1].ring.get().slots = 1;
    for queue in [1, 2] {
        device.enqueue(queue, 3);
        device.run(queue);
    }
    // All three wait for the budget, 0 first. After its turn, 1 cannot use its own.
    for _ in 0..4 {
        device.complete(0, 4);
    }
    assert_eq!(device.in_flight(2), 3 * BYTES);
}

#[test]
fn paused_queue_does_not_stop_others() {
    let mut device = ten_packets_for(2);
    device.enqueue(0, 50);
    device.run(0);
    device.enqueue(1, 20);
    device.run(1);
    for _ in 0..19 {
        assert_eq!(device.in_flight(1), BYTES);
        device.complete(1, 1);
    }
    assert_eq!(device.queues[1].sender.counters().sent_packets, 20);
}

#[test]
fn saturated_queues_share_equally() {
    let mut device = ten_packets_for(4);
    for queue in 0..4 {
        device.enqueue(queue, 5_000);
        device.run(queue);
    }
    // The device serves all queues round-robin, and queue 0 starts with the whole budget.
    for round in 0..4_000 {
        let queue = round % 4;
        device.complete(queue, 2);
    }
    let sent = device.queues.iter();
    let sent: Vec<u64> = sent
        .map(|queue| queue.sender.counters().sent_packets)
        .collect();
    let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
    assert!(most - least <= most / 10, "{sent:?}");
}

#[test]
fn reset_releases_bytes_in_flight_once() {
    let mut device = ten_packets_for(2);
    device.enqueue(0, 50);
    device.run(0);
    device.enqueue(1, 50);
    device.run(1);
    device.queues[0].sender.request_reset();
    device.run(0);
    let round = device.queues[0]
        .completer
        .complete(device.now_ns, &mut device.books);
    assert!(round.expect("nothing is broken").schedule);
    assert_eq!(device.budget.in_flight_bytes(), device.in_flight(1));
    assert!(device.woken(1), "there is room, and it was in line");
    device.run(1);
    let (before, late) = (device.sum(), 11);
    device.queues[0].ring.get().finish(late);
    let round = device.queues[0]
        .completer
        .complete(1_000, &mut device.books);
    assert_eq!(
        round.expect("stale is not an error").stale_packets,
        late as u32
    );
    assert_eq!(device.budget.in_flight_bytes(), before);
}

#[test]
fn packet_uncountable_by_the_budget_is_dropped() {
    let own = [Fixed::off()];
    let mut device = Device::new(AnyLimit::off(), &own, 16);
    let large = packet(0, taut_dql::MAX_OBJECT);
    for frame in 1..=4 {
        let packet = packet(frame, taut_dql::MAX_OBJECT);
        device.queues[0]
            .sender
            .enqueue(packet, 0, &mut device.books);
    }
    device.queues[0].sender.enqueue(large, 0, &mut device.books);
    device.run(0);
    // 2^30 holds three objects of 2^28 - 1; the remainder is 3 bytes short of a fourth, so four
    // fit.
    assert_eq!(device.queues[0].sender.counters().sent_packets, 4);
    assert_eq!(device.books.dropped.len(), 1);
}

#[test]
fn shared_dql_needs_two_intervals() {
    let own = [Fixed::off(); 4];
    let rule = Dynamic::new(Config {
        hold_time_ns: 1_000_000,
        ..Config::default()
    });
    let rule = AnyLimit::new(rule.expect("the bounds are in order"));
    let mut device = Device::every(4_000, rule, &own, 4_096);
    for queue in 0..4 {
        device.enqueue(queue, 10_000);
        device.run(queue);
    }
    // The wire sends 5 packets per us, round-robin over the queues, and each queue interrupts once
    // per 4 us.
    let (mut next, mut idle) = (0, 0);
    for round in 0..8_000 {
        for _ in 0..5 {
            let busy = (0..4).map(|step| (next + step) % 4);
            let mut busy =
                busy.filter(|&queue| !device.queues[queue].ring.get().in_device.is_empty());
            match busy.next() {
                Some(queue) => {
                    device.queues[queue].ring.get().finish(1);
                    next = queue + 1;
                }
                None if round > 100 => idle += 1,
                None => {}
            }
        }
        device.complete(round % 4, 0);
    }
    let interval = f64::from(4 * 5 * BYTES);
    let limit = f64::from(device.budget.limit_bytes());
    assert!(
        (0.9 * interval..=2.0 * interval).contains(&limit),
        "{limit}"
    );
    assert!(
        idle < 8_000 * 5 / 100,
        "{idle} packets' time of the wire was lost"
    );
    assert!(device.sum() <= limit as u32 + 4 * BYTES);
}

#[test]
fn budget_in_packets_is_rejected() {
    let ring = SharedRing::new(8);
    let queue = Queue::builder(ring.clone(), ring);
    let rejected = budget::attach(AnyLimit::packets(4), 0, vec![queue], 0).map(drop);
    let error = rejected.expect_err("it would let in four bytes");
    assert_eq!(error, QueueConfigError::BudgetNotInBytes);
    assert!(error.to_string().contains("counts bytes"), "{error}");
}

#[test]
fn invalid_settings_of_a_queue_are_rejected() {
    let ring = SharedRing::new(8);
    let config = QueueConfig {
        burst_packets: 0,
        ..QueueConfig::default()
    };
    let queue = Queue::builder(ring.clone(), ring).config(config);
    let rejected = budget::attach(AnyLimit::dql(), 0, vec![queue], 0).map(drop);
    assert_eq!(
        rejected.err(),
        Some(QueueConfigError::Zero("burst_packets"))
    );
}

/// A rule that panics in its first batch, and raises its limit afterwards.
#[derive(Debug, Clone)]
struct PanicsOnce {
    rounds: u32,
}

impl fmt::Display for PanicsOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("panics-once")
    }
}

impl Limit for PanicsOnce {
    fn begin(&mut self, _now_ns: u64) {}

    fn limit(&self) -> u32 {
        1_000 + self.rounds
    }

    fn completed(&mut self, _round: &CompletionBatch) -> u32 {
        self.rounds += 1;
        assert!(self.rounds > 1, "the first round");
        self.limit()
    }

    fn reset(&mut self, _now_ns: u64) {}

    fn config(&self) -> Config {
        Config::default()
    }

    fn set_config(&mut self, _config: Config) -> Result<(), taut_dql::Error> {
        Ok(())
    }
}

#[test]
fn rule_receives_batches_after_a_panic() {
    let rule = AnyLimit::new(PanicsOnce { rounds: 0 });
    let mut device = Device::new(rule, &[Fixed::off()], 16);
    device.enqueue(0, 2);
    device.run(0);
    let round = catch_unwind(AssertUnwindSafe(|| device.complete(0, 1)));
    assert!(round.is_err());
    assert_eq!(device.budget.limit_bytes(), 1_000);
    device.complete(0, 1);
    assert_eq!(device.budget.limit_bytes(), 1_002);
}

#[test]
fn rejected_packet_releases_its_budget() {
    let mut device = ten_packets_for(2);
    device.queues[0].ring.get().longest_bytes = BYTES - 1;
    device.enqueue(0, 5);
    assert_eq!(device.run(0), Stop::Idle);
    assert_eq!(device.books.dropped.len(), 5);
    assert_eq!(device.budget.in_flight_bytes(), 0);
    device.enqueue(1, 50);
    assert_eq!(device.run(1), Stop::Limit);
    assert_eq!(device.in_flight(1), 11 * BYTES, "all of the budget");
}
