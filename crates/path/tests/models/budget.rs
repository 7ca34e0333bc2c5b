//! Model checks of the second gate: two queues, two completers, one budget.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models budget::`

use loom::sync::Arc;
use loom::thread;

use crate::support::{Counts, Nothing, PACKET_BYTES, Reap, Submit, pair, send_until_asleep};
use taut_dql::{Config, Error};
use taut_path::budget::{self, Member};
use taut_path::limit::{CompletionBatch, Fixed, Limit, Needs};
use taut_path::qdisc::Fifo;
use taut_path::queue::{Completer, Sender};
use taut_path::{AnyLimit, Frame, Packet};

/// One queue of the device, with packets in its discipline.
struct Queue {
    sender: Sender<Submit, Fifo, (), Member>,
    completer: Completer<Reap, Fixed, (), Member>,
    counts: Arc<Counts>,
}

/// Two queues with `packets` each under a budget of one object; a soft limit admits one more.
fn two_queues(rule: AnyLimit, packets: [u32; 2]) -> [Queue; 2] {
    let (queues, counts): (Vec<_>, Vec<_>) = packets
        .into_iter()
        .map(|packets| {
            let (submit, reap, counts) = pair(8);
            let queue = taut_path::Queue::builder(submit, reap)
                .with_limit(Fixed::off())
                .with_qdisc(Fifo::new(4));
            (queue, (packets, counts))
        })
        .unzip();
    let (_, halves) = budget::attach(rule, 0, queues, 0).expect("the rule counts bytes");
    let queues = halves.into_iter().zip(counts);
    let queues = queues.map(|((mut sender, completer, _), (packets, counts))| {
        for index in 0..packets {
            let packet = Packet::new(Frame::new(index), PACKET_BYTES);
            sender.enqueue(packet, 0, &mut Nothing);
        }
        Queue {
            sender,
            completer,
            counts,
        }
    });
    let queues: Vec<Queue> = queues.collect();
    queues.try_into().ok().expect("two were set up")
}

fn one_object() -> AnyLimit {
    AnyLimit::bytes(PACKET_BYTES)
}

/// A sleeping queue must have a pending wake-up, or a completion still to come.
fn assert_not_lost(asleep: bool, wakeups: u32, in_device: u32) {
    assert!(
        !asleep || wakeups > 0 || in_device > 0,
        "lost wake-up: asleep, and nothing in flight"
    );
}

/// Both complete at the same time, while both wait.
#[test]
fn concurrent_completions_lose_no_wakeup() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let [mut first, mut second] = two_queues(one_object(), [4, 4]);
        assert!(send_until_asleep(&mut first.sender));
        assert!(send_until_asleep(&mut second.sender));
        let complete = |mut completer: Completer<Reap, Fixed, (), Member>| {
            let round = completer.complete(1, &mut Nothing);
            assert!(round.is_ok(), "the driver returns submitted packets only");
            // Not dropped yet, because dropping a half wakes the other.
            completer
        };
        let completer = second.completer;
        let other = thread::spawn(move || complete(completer));
        let completers = [
            complete(first.completer),
            other.join().expect("the completer does not panic"),
        ];
        for (completer, counts) in completers.iter().zip([&first.counts, &second.counts]) {
            let in_flight = counts.submitted() - completer.completions().reaped;
            assert_not_lost(true, completer.wakeups(), in_flight);
        }
    });
}

/// A fixed limit that checks the times of its batches.
#[derive(Debug, Clone)]
struct Strict(Fixed);

impl Limit for Strict {
    fn begin(&mut self, now_ns: u64) {
        self.0.begin(now_ns);
    }

    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn completed(&mut self, round: &CompletionBatch) -> u32 {
        if let Some(returned_ns) = round.sender_returned_ns {
            assert!(returned_ns <= round.now_ns, "a time in the future");
            assert!(returned_ns >= SENT_NS, "a time before the first object");
        }
        assert!(round.units <= round.in_flight, "more than was sent");
        self.0.completed(round)
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            return_time: true,
            rate: false,
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.0.reset(now_ns);
    }

    fn config(&self) -> Config {
        self.0.config()
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.0.set_config(config)
    }
}

impl std::fmt::Display for Strict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("strict")
    }
}

const SENT_NS: u64 = 1_000;

/// A queue sends while its completion passes a batch to a rule that requested the return time.
#[test]
fn rule_receives_no_future_times() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let rule = AnyLimit::new(Strict(Fixed::off()));
        let [mut first, mut second] = two_queues(rule, [1, 1]);
        let send = |sender: &mut Sender<Submit, Fifo, (), Member>, now_ns| {
            assert_eq!(sender.run(now_ns, &mut Nothing), taut_path::Stop::Idle);
        };
        let complete = |completer: &mut Completer<Reap, Fixed, (), Member>, now_ns| {
            let round = completer.complete(now_ns, &mut Nothing);
            assert!(round.is_ok(), "the driver returns submitted packets only");
        };
        send(&mut first.sender, SENT_NS);
        send(&mut second.sender, SENT_NS);
        complete(&mut first.completer, 2 * SENT_NS);
        let sending = {
            let mut sender = second.sender;
            let packet = Packet::new(Frame::new(1), PACKET_BYTES);
            sender.enqueue(packet, 0, &mut Nothing);
            // The sender reads its clock later than the completer.
            thread::spawn(move || send(&mut sender, 4 * SENT_NS))
        };
        complete(&mut second.completer, 3 * SENT_NS);
        sending.join().expect("the sender does not panic");
        complete(&mut second.completer, 5 * SENT_NS);
    });
}
