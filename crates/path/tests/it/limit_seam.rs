//! What a limit hears from the queue, and in which order.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{Bench, Books, FakeRing, packet};
use taut_dql::{Config, Error};
use taut_path::limit::{CompletionBatch, Fixed, Limit, Needs, StandaloneLimit, Unit};
use taut_path::qdisc::{Backlog, Fifo, Qdisc};
use taut_path::queue::QueueConfig;
use taut_path::tunables::Setting;
use taut_path::{Packet, PacketSink, Queue, Stop};

/// One round, as far as these tests look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Heard {
    units: u32,
    in_flight: u32,
    ring_units: u32,
    more: bool,
    refusals: u32,
    returned_ns: Option<u64>,
}

type Log = Rc<RefCell<Vec<Heard>>>;

/// A fixed limit that writes down what it hears.
struct Listening {
    inner: Fixed,
    log: Log,
    /// Whether it asks after each round when the sender comes back.
    asks: bool,
}

impl Limit for Listening {
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
        self.log.borrow_mut().push(Heard {
            units: round.units,
            in_flight: round.in_flight,
            ring_units: round.ring_units,
            more: round.more_pending,
            refusals: round.times_blocked,
            returned_ns: round.sender_returned_ns,
        });
        self.inner.completed(round)
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            return_time: self.asks,
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

fn listening(inner: Fixed) -> (Listening, Log) {
    let log = Log::default();
    let limit = Listening {
        inner,
        log: log.clone(),
        asks: true,
    };
    (limit, log)
}

/// Refusals since the rule last heard of them.
fn refusals(bench: &mut Bench<Listening>, log: &Log) -> u32 {
    bench.complete(1);
    log.borrow().last().expect("a round").refusals
}

fn taken(log: &Log) -> Vec<Heard> {
    log.take()
}

#[test]
fn a_limit_hears_of_a_refusal_only_when_something_waits_without_room() {
    let (limit, log) = listening(Fixed::packets(2));
    let mut bench = Bench::new(limit, 64);
    bench.enqueue(2, 60);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(refusals(&mut bench, &log), 0, "nothing waits");

    bench.enqueue(3, 61);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(refusals(&mut bench, &log), 1);

    bench.queue.flush(0, &mut bench.books);
    bench.enqueue(1, 61);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(refusals(&mut bench, &log), 1, "nothing waits any more");

    // As often as it tries.
    bench.enqueue(2, 62);
    for _ in 0..3 {
        assert_eq!(bench.run(), Stop::Limit);
    }
    assert_eq!(refusals(&mut bench, &log), 4);
}

#[test]
fn a_full_ring_is_no_refusal_by_the_limit() {
    let (limit, log) = listening(Fixed::packets(10));
    let mut bench = Bench::new(limit, 4);
    bench.enqueue(8, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(refusals(&mut bench, &log), 0);
}

#[test]
fn a_batch_says_what_the_ring_holds_until_the_limit_stops_first_with_slots_to_spare() {
    let (limit, log) = listening(Fixed::bytes(10_000));
    let mut bench = Bench::new(limit, 8);
    let mut stops_at = |limit_bytes: u32, stop: Stop<_>| {
        let setting = Setting::LimitMax(limit_bytes);
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
fn a_limit_hears_whether_a_round_will_go_on_and_that_a_chain_is_over() {
    let (limit, log) = listening(Fixed::bytes(10_000));
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
    let heard = |log: &Log| -> Vec<_> {
        let rounds = taken(log).into_iter();
        rounds
            .map(|round| (round.units, round.in_flight, round.more))
            .collect()
    };
    let rounds = [(120, 180, true), (60, 60, false)];
    assert_eq!(heard(&log), rounds, "and nothing of the empty round");

    // Reaping fails in the middle of a chain: nobody goes on with it.
    bench.enqueue(3, 60);
    bench.run();
    bench.complete(3);
    bench.queue.device_mut().finished.clear();
    bench.complete(0);
    bench.complete(0);
    let rounds = [(120, 180, true), (0, 60, false)];
    assert_eq!(heard(&log), rounds, "an empty round closes the chain once");
}

#[test]
fn a_limit_hears_when_the_sender_was_back_if_it_asked() {
    let (limit, log) = listening(Fixed::packets(2));
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
    // At the start; while it is away; and when it queued first, not last.
    assert_eq!(back(&log), [Some(70), None, Some(5_000)]);

    bench.queue.reset(11_000);
    bench.now_ns = 12_000;
    bench.enqueue(1, 60);
    bench.run();
    bench.complete(2);
    assert_eq!(back(&log), [Some(12_000)], "a reset asks anew");
}

#[test]
fn a_limit_that_does_not_ask_hears_when_the_sender_queued_first_of_all() {
    let (mut limit, log) = listening(Fixed::packets(2));
    limit.asks = false;
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

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.fifo.drain(gone);
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
fn packets_that_are_not_ready_stop_the_queue_until_they_are_and_are_not_refused() {
    let (limit, log) = listening(Fixed::packets(1));
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
    assert_eq!((round.refusals, round.returned_ns), (1, Some(500)));
}

#[test]
fn a_round_of_nothing_ends_a_chain_whatever_the_driver_says() {
    let (limit, log) = listening(Fixed::bytes(10_000));
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
fn a_sender_whose_clock_is_ahead_came_back_when_the_round_was() {
    let back_at_4_us = |log: &Log| {
        let heard = Heard {
            units: 1_000,
            in_flight: 1_000,
            ring_units: u32::MAX,
            more: false,
            refusals: 0,
            returned_ns: Some(4_000),
        };
        assert_eq!(taken(log), [heard]);
    };
    let (limit, log) = listening(Fixed::bytes(10_000));
    let mut bench = Bench::new(limit, 64);
    bench.now_ns = 5_000;
    bench.enqueue(1, 1_000);
    bench.run();
    bench.now_ns = 3_000;
    bench.complete(1);
    assert_eq!(bench.now_ns, 4_000);
    back_at_4_us(&log);

    let (limit, log) = listening(Fixed::bytes(10_000));
    let mut limit = StandaloneLimit::new(limit, 0);
    limit.queued(1_000, 5_000).expect("counts");
    limit.completed(1_000, false, 4_000).expect("in flight");
    back_at_4_us(&log);
}
