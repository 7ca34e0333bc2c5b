//! The records that a limit receives from the queue, and their order.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{Bench, Books, FakeRing, packet};
use taut_dql::{Config, Error};
use taut_path::limit::{CompletionBatch, Fixed, Limit, Needs, StandaloneLimit, Unit};
use taut_path::qdisc::{Backlog, Fifo, Qdisc};
use taut_path::queue::QueueConfig;
use taut_path::tunables::{Setting, Tunable};
use taut_path::{Packet, PacketSink, Queue, Stop};

/// The checked fields of a completion batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BatchRecord {
    units: u32,
    in_flight: u32,
    ring_units: u32,
    more: bool,
    times_blocked: u32,
    returned_ns: Option<u64>,
}

type Log = Rc<RefCell<Vec<BatchRecord>>>;

/// A fixed limit that records its batches.
struct RecordingLimit {
    inner: Fixed,
    log: Log,
    /// The limit requests the return time of the sender.
    needs_return: bool,
}

impl Limit for RecordingLimit {
    fn unit(&self) -> Unit {
        self.inner.unit()
    }

    fn begin(&mut self, now_ns: u64) {
        self.inner.begin(now_ns);
    }

    fn limit(&self) -> u32 {
        self.inner.limit()
    }

    fn completed(&mut self, round: &CompletionBatch) -> u32 {
        self.log.borrow_mut().push(BatchRecord {
            units: round.units,
            in_flight: round.in_flight,
            ring_units: round.ring_units,
            more: round.more_pending,
            times_blocked: round.times_blocked,
            returned_ns: round.sender_returned_ns,
        });
        self.inner.completed(round)
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            return_time: self.needs_return,
            rate: false,
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.inner.reset(now_ns);
    }

    fn config(&self) -> Config {
        self.inner.config()
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.inner.set_config(config)
    }
}

fn recording_limit(inner: Fixed) -> (RecordingLimit, Log) {
    let log = Log::default();
    let limit = RecordingLimit {
        inner,
        log: log.clone(),
        needs_return: true,
    };
    (limit, log)
}

/// Returns the blocks since the previous batch.
fn times_blocked(bench: &mut Bench<RecordingLimit>, log: &Log) -> u32 {
    bench.complete(1);
    log.borrow().last().expect("a round").times_blocked
}

fn taken(log: &Log) -> Vec<BatchRecord> {
    log.take()
}

#[test]
fn block_needs_backlog_without_room() {
    let (limit, log) = recording_limit(Fixed::packets(2));
    let mut bench = Bench::new(limit, 64);
    bench.enqueue(2, 60);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(times_blocked(&mut bench, &log), 0, "nothing waits");

    bench.enqueue(3, 61);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(times_blocked(&mut bench, &log), 1);

    bench.queue.flush(0, &mut bench.books);
    bench.enqueue(1, 61);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(times_blocked(&mut bench, &log), 1, "nothing waits any more");

    // Each attempt counts.
    bench.enqueue(2, 62);
    for _ in 0..3 {
        assert_eq!(bench.run(), Stop::Limit);
    }
    assert_eq!(times_blocked(&mut bench, &log), 4);
}

#[test]
fn full_ring_is_not_a_block() {
    let (limit, log) = recording_limit(Fixed::packets(10));
    let mut bench = Bench::new(limit, 4);
    bench.enqueue(8, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(times_blocked(&mut bench, &log), 0);
}

#[test]
fn ring_units_clear_after_limit_stop() {
    let (limit, log) = recording_limit(Fixed::bytes(10_000));
    let mut bench = Bench::new(limit, 8);
    let mut stops_at = |limit_bytes: u32, stop: Stop<_>| {
        let setting = Setting {
            tunable: Tunable::LimitMax,
            value: limit_bytes,
        };
        bench
            .queue
            .set(setting)
            .expect("a fixed limit has a maximum");
        bench.complete(8);
        bench.enqueue(20, 60);
        assert_eq!(bench.run(), stop);
        bench.complete(1);
        log.borrow().last().expect("a batch").ring_units
    };
    // A limit of 7 packets of 60 bytes admits one more.
    assert_eq!(stops_at(10_000, Stop::RingFull), 7 * 60);
    assert_eq!(stops_at(6 * 60, Stop::Limit), 7 * 60, "one slot is free");
    assert_eq!(stops_at(5 * 60, Stop::Limit), 7 * 60, "two slots are free");
    assert_eq!(stops_at(4 * 60, Stop::Limit), u32::MAX);
    assert_eq!(stops_at(10_000, Stop::RingFull), 7 * 60);
}

#[test]
fn limit_receives_the_end_of_a_reap() {
    let (limit, log) = recording_limit(Fixed::bytes(10_000));
    let config = QueueConfig {
        reap_budget_packets: 2,
        ..QueueConfig::default()
    };
    let mut bench = Bench::with(limit, FakeRing::new(64), config, ());
    bench.enqueue(3, 60);
    bench.run();
    bench.complete(3);
    bench.complete(0);
    bench.complete(0);
    let records = |log: &Log| -> Vec<_> {
        let rounds = taken(log).into_iter();
        rounds
            .map(|round| (round.units, round.in_flight, round.more))
            .collect()
    };
    let rounds = [(120, 180, true), (60, 60, false)];
    assert_eq!(records(&log), rounds, "no record of the empty batch");

    // A reap fails before its last batch, so it has no further batch.
    bench.enqueue(3, 60);
    bench.run();
    bench.complete(3);
    bench.queue.device_mut().finished.clear();
    bench.complete(0);
    bench.complete(0);
    let rounds = [(120, 180, true), (0, 60, false)];
    assert_eq!(records(&log), rounds, "an empty batch ends the reap once");
}

#[test]
fn limit_receives_the_requested_return_time() {
    let (limit, log) = recording_limit(Fixed::packets(2));
    let mut bench = Bench::new(limit, 64);
    bench.now_ns = 70;
    bench.enqueue(2, 60);
    bench.run();
    bench.complete(1);
    bench.complete(1);
    bench.now_ns = 5_000;
    bench.enqueue(1, 60);
    bench.run();
    bench.now_ns = 9_000;
    bench.enqueue(1, 60);
    bench.run();
    bench.complete(1);
    let back = |log: &Log| -> Vec<_> {
        let rounds = taken(log).into_iter();
        rounds.map(|round| round.returned_ns).collect()
    };
    // At the start; while the sender is away; when it first queued again.
    assert_eq!(back(&log), [Some(70), None, Some(5_000)]);

    bench.queue.reset(11_000);
    bench.now_ns = 12_000;
    bench.enqueue(1, 60);
    bench.run();
    bench.complete(2);
    assert_eq!(back(&log), [Some(12_000)], "a reset requests it again");
}

#[test]
fn unrequested_return_time_is_the_first_one() {
    let (mut limit, log) = recording_limit(Fixed::packets(2));
    limit.needs_return = false;
    let mut bench = Bench::new(limit, 64);
    for at_ns in [70, 5_000, 9_000] {
        bench.now_ns = at_ns;
        bench.enqueue(1, 60);
        bench.run();
        bench.complete(1);
    }
    let back = taken(&log).into_iter().map(|round| round.returned_ns);
    assert_eq!(back.collect::<Vec<_>>(), [Some(70); 3]);
}

/// Holds back all packets until a time.
struct NotBefore {
    fifo: Fifo,
    ready_ns: u64,
}

impl Qdisc for NotBefore {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.fifo.enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        if now_ns < self.ready_ns {
            return None;
        }
        self.fifo.dequeue(now_ns, sink)
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.fifo.drain(on_packet);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.fifo.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn next_ready(&self, now_ns: u64) -> Option<u64> {
        (self.backlog().packets > 0 && now_ns < self.ready_ns).then_some(self.ready_ns)
    }
}

#[test]
fn unready_packets_stop_without_a_block() {
    let (limit, log) = recording_limit(Fixed::packets(1));
    let discipline = NotBefore {
        fifo: Fifo::new(10),
        ready_ns: 500,
    };
    let mut queue = Queue::builder_for(FakeRing::new(8))
        .with_limit(limit)
        .with_qdisc(discipline)
        .build(0)
        .expect("the defaults are valid");
    let mut books = Books::default();
    for frame in 0..3 {
        queue.enqueue(packet(frame, 60), 0, &mut books);
    }
    assert_eq!(queue.run(100, &mut books), Stop::NotReady(500));
    assert_eq!(queue.in_flight(), 0);
    assert_eq!(queue.run(500, &mut books), Stop::Limit);
    queue.device_mut().finish(1);
    assert!(
        queue
            .complete(600, &mut books)
            .is_ok_and(|round| round.schedule)
    );
    let round = taken(&log)[0];
    assert_eq!((round.times_blocked, round.returned_ns), (1, Some(500)));
}

#[test]
fn empty_batch_ends_a_reap() {
    let (limit, log) = recording_limit(Fixed::bytes(10_000));
    let mut bench = Bench::new(limit, 64);
    bench.enqueue(2, 1_000);
    bench.run();
    bench.queue.device_mut().says_more = true;
    bench.complete(1);
    for _ in 0..3 {
        bench.complete(0);
    }
    let rounds = taken(&log).into_iter();
    let rounds: Vec<_> = rounds.map(|it| (it.units, it.more)).collect();
    assert_eq!(rounds, [(1_000, true), (0, false)]);
}

#[test]
fn return_time_is_clamped_to_the_batch() {
    let back_at_4_us = |log: &Log| {
        let record = BatchRecord {
            units: 1_000,
            in_flight: 1_000,
            ring_units: u32::MAX,
            more: false,
            times_blocked: 0,
            returned_ns: Some(4_000),
        };
        assert_eq!(taken(log), [record]);
    };
    let (limit, log) = recording_limit(Fixed::bytes(10_000));
    let mut bench = Bench::new(limit, 64);
    bench.now_ns = 5_000;
    bench.enqueue(1, 1_000);
    bench.run();
    bench.now_ns = 3_000;
    bench.complete(1);
    assert_eq!(bench.now_ns, 4_000);
    back_at_4_us(&log);

    let (limit, log) = recording_limit(Fixed::bytes(10_000));
    let mut limit = StandaloneLimit::new(limit, 0);
    limit.queued(1_000, 5_000).expect("counts");
    limit.completed(1_000, false, 4_000).expect("in flight");
    back_at_4_us(&log);
}
