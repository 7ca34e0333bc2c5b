//! What a limit hears from the queue, and in which order.

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{Bench, Books, FakeRing, packet};
use taut_dql::{Error, Snapshot};
use taut_path::limit::{Done, Fixed, Limit, LimitCompleter, LimitKnob, LimitSender};
use taut_path::qdisc::{Backlog, Fifo, Qdisc};
use taut_path::queue::QueueConfig;
use taut_path::{Packet, PacketSink, Stop, TxQueue};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Queued(u32),
    Refused,
    Completed { bytes: u32, more: bool },
}

type Log = Rc<RefCell<Vec<Heard>>>;

/// A fixed limit that writes down what it hears.
struct Listening {
    inner: Fixed,
    log: Log,
}

struct Half<T> {
    inner: T,
    log: Log,
}

impl Limit for Listening {
    type Sender = Half<<Fixed as Limit>::Sender>;
    type Completer = Half<<Fixed as Limit>::Completer>;

    fn split(self, now_ns: u64) -> Result<(Self::Sender, Self::Completer), Error> {
        let (sender, completer) = self.inner.split(now_ns)?;
        let log = self.log;
        Ok((
            Half {
                inner: sender,
                log: log.clone(),
            },
            Half {
                inner: completer,
                log,
            },
        ))
    }

    fn reset(
        sender: &mut Self::Sender,
        completer: &mut Self::Completer,
        now_ns: u64,
    ) -> Result<(), Error> {
        Fixed::reset(&mut sender.inner, &mut completer.inner, now_ns)
    }
}

impl<T: LimitSender> LimitSender for Half<T> {
    fn queued(&mut self, bytes: u32, now_ns: u64) -> Result<(), Error> {
        self.log.borrow_mut().push(Heard::Queued(bytes));
        self.inner.queued(bytes, now_ns)
    }

    fn has_room(&self) -> bool {
        self.inner.has_room()
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }

    fn epoch(&self) -> u32 {
        self.inner.epoch()
    }

    fn refused(&mut self) {
        assert!(!self.inner.has_room(), "refused with room");
        self.log.borrow_mut().push(Heard::Refused);
    }
}

impl<T: LimitCompleter> LimitCompleter for Half<T> {
    fn completed(&mut self, done: Done, now_ns: u64, more: bool) -> Result<(), Error> {
        let bytes = done.bytes;
        self.log.borrow_mut().push(Heard::Completed { bytes, more });
        self.inner.completed(done, now_ns, more)
    }

    fn has_room(&self) -> bool {
        self.inner.has_room()
    }

    fn epoch(&self) -> u32 {
        self.inner.epoch()
    }

    fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    fn set(&mut self, knob: LimitKnob, units: u32) -> Result<(), Error> {
        self.inner.set(knob, units)
    }

    fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        self.inner.set_hold_time_ns(hold_time_ns);
    }
}

fn listening(inner: Fixed) -> (Listening, Log) {
    let log = Log::default();
    let limit = Listening {
        inner,
        log: log.clone(),
    };
    (limit, log)
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
    assert_eq!(taken(&log), [Heard::Queued(60); 2], "nothing waits");

    bench.enqueue(1, 61);
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(taken(&log), [Heard::Refused]);

    bench.complete(2);
    assert_eq!(bench.run(), Stop::Idle);
    let completed = Heard::Completed {
        bytes: 120,
        more: false,
    };
    assert_eq!(taken(&log), [completed, Heard::Queued(61)],);
    bench.enqueue(1, 62);
    bench.run();
    assert_eq!(taken(&log), [Heard::Queued(62)], "not refused since");
}

#[test]
fn a_full_ring_is_no_refusal_by_the_limit() {
    let (limit, log) = listening(Fixed::packets(10));
    let mut bench = Bench::new(limit, 4);
    bench.enqueue(8, 60);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(bench.run(), Stop::RingFull);
    assert_eq!(taken(&log), [Heard::Queued(60); 4]);
}

#[test]
fn a_limit_hears_whether_a_round_will_go_on() {
    let (limit, log) = listening(Fixed::packets(10));
    let mut config = QueueConfig::new(64);
    config.reap_budget_packets = 2;
    let mut bench = Bench::with(limit, FakeRing::new(64), config, ());
    bench.enqueue(3, 60);
    bench.run();
    taken(&log);
    bench.complete(3);
    bench.complete(0);
    bench.complete(0);
    let rounds = [(120, true), (60, false)].map(|(bytes, more)| Heard::Completed { bytes, more });
    assert_eq!(taken(&log), rounds, "and nothing of the empty round");
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
    let (ring, config) = (FakeRing::new(8), QueueConfig::new(8));
    let mut queue =
        TxQueue::new(Box::new(discipline), limit, ring, (), config, 0).expect("valid settings");
    let mut books = Books::default();
    for frame in 0..3 {
        queue.enqueue(packet(frame, 60), 0, &mut books);
    }
    assert_eq!(queue.run(100, &mut books), Stop::NotReady(500));
    assert_eq!(taken(&log), []);
    assert_eq!(queue.run(500, &mut books), Stop::Limit);
    assert_eq!(taken(&log), [Heard::Queued(60), Heard::Refused]);
}
