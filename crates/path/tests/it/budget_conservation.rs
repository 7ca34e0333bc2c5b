//! For any sequence of operations on the queues of a device: the budget counts exactly the bytes in
//! flight, exceeds its limit by at most an object per queue, and every packet ends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Waker;

use crate::support::{Books, SharedRing, Wakes, packet};
use proptest::prelude::*;
use taut_path::budget::{self, Budget, Member};
use taut_path::limit::Dynamic;
use taut_path::queue::{CompleteError, Completer, Sender};
use taut_path::{AnyLimit, AnyQdisc, LateSegmentation, Queue, Segmentation, Stop};

const QUEUES: usize = 3;
const HEADER_BYTES: u32 = 54;
const EACH_BYTES: u32 = 1_446;
/// The longest object: longer packets are sent in chunks of a segment.
const LARGEST_BYTES: u32 = HEADER_BYTES + EACH_BYTES;

#[derive(Debug, Clone)]
enum Step {
    Enqueue { queue: usize, bytes: u32 },
    Run(usize),
    Finish(usize, usize),
    Complete(usize),
    Reset(usize),
    Flush(usize),
    FailKick(usize),
    FailReap(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let queue = 0..QUEUES;
    let bytes = prop_oneof![
        20 => 0..=LARGEST_BYTES,
        5 => LARGEST_BYTES..=HEADER_BYTES + 10 * EACH_BYTES,
        1 => Just(taut_dql::MAX_OBJECT + 1)
    ];
    prop_oneof![
        8 => (queue.clone(), bytes).prop_map(|(queue, bytes)| Step::Enqueue { queue, bytes }),
        6 => queue.clone().prop_map(Step::Run),
        5 => (queue.clone(), 0usize..8).prop_map(|(queue, packets)| Step::Finish(queue, packets)),
        5 => queue.clone().prop_map(Step::Complete),
        1 => queue.clone().prop_map(Step::Reset),
        1 => queue.clone().prop_map(Step::Flush),
        1 => queue.clone().prop_map(Step::FailKick),
        1 => queue.prop_map(Step::FailReap),
    ]
}

struct Joined {
    sender: Sender<SharedRing, AnyQdisc, (), Member>,
    completer: Completer<SharedRing, Dynamic, (), Member>,
    ring: SharedRing,
}

struct World {
    budget: Budget,
    queues: Vec<Joined>,
    wakes: Vec<Arc<Wakes>>,
    books: Books,
    now_ns: u64,
    frames: u32,
    /// A fixed limit of the budget, so that it can be checked at any time.
    fixed_bytes: Option<u32>,
}

impl World {
    fn new(rule: AnyLimit, interval_ns: u64, fixed_bytes: Option<u32>) -> Self {
        let wakes: Vec<Arc<Wakes>> = (0..QUEUES).map(|_| Arc::default()).collect();
        let rings: Vec<SharedRing> = (0..QUEUES).map(|_| SharedRing::new(12)).collect();
        let queues = wakes.iter().zip(&rings).map(|(wakes, ring)| {
            Queue::builder(ring.clone(), ring.clone())
                .with_limit(Dynamic::default())
                .qdisc("pfifo limit 20".parse().expect("it is well formed"))
                .waker(Waker::from(wakes.clone()))
                .late_segmentation(LateSegmentation::EachSegment)
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
            fixed_bytes,
        }
    }

    fn step(&mut self, step: &Step) {
        self.now_ns += 777;
        let now_ns = self.now_ns;
        match *step {
            Step::Enqueue { queue, bytes } => {
                let mut packet = packet(self.frames, bytes);
                if (LARGEST_BYTES..=taut_dql::MAX_OBJECT).contains(&bytes) {
                    packet.segmentation = Segmentation::new(HEADER_BYTES as u16, EACH_BYTES as u16);
                }
                self.frames += 1;
                self.queues[queue]
                    .sender
                    .enqueue(packet, now_ns, &mut self.books);
            }
            Step::Run(queue) => self.run(queue),
            Step::Finish(queue, packets) => self.queues[queue].ring.get().finish(packets),
            Step::Complete(queue) => {
                let batch = self.queues[queue]
                    .completer
                    .complete(now_ns, &mut self.books);
                // A failed reap is allowed here; a wrong ledger is not.
                assert!(!matches!(
                    batch,
                    Err(CompleteError::UnknownCompletions { .. })
                ));
            }
            Step::Reset(queue) => self.reset(queue),
            Step::Flush(queue) => self.queues[queue].sender.flush(now_ns, &mut self.books),
            Step::FailKick(queue) => self.queues[queue].ring.get().failing_kicks += 1,
            Step::FailReap(queue) => self.queues[queue].ring.get().failing_reaps = 1,
        }
        self.check();
    }

    /// Runs a queue as an owner does: arms the waker when it is stopped.
    fn run(&mut self, queue: usize) {
        let queue = &mut self.queues[queue].sender;
        while let Stop::Limit | Stop::RingFull = queue.run(self.now_ns, &mut self.books) {
            if queue.must_wait() {
                return;
            }
        }
    }

    /// A reset, requested by one half, begun by the sender and ended by the completer.
    fn reset(&mut self, queue: usize) {
        self.queues[queue].sender.request_reset();
        self.run(queue);
        let batch = self.queues[queue]
            .completer
            .complete(self.now_ns, &mut self.books);
        // The reap might be a failing one.
        assert!(!batch.is_ok_and(|batch| !batch.schedule));
        self.run(queue);
    }

    fn check(&self) {
        let own = |queue: &Joined| queue.completer.snapshot().in_flight;
        let sum: u32 = self.queues.iter().map(own).sum();
        assert_eq!(self.budget.in_flight_bytes(), sum, "charged = in flight");
        if let Some(limit_bytes) = self.fixed_bytes {
            let most = limit_bytes + QUEUES as u32 * LARGEST_BYTES;
            assert!(sum <= most, "{sum} of {limit_bytes}");
        }
        // A packet with chunks in a ring might be in the backlog as well.
        let mut inside = BTreeSet::new();
        let mut waiting = 0;
        for queue in &self.queues {
            let ring = queue.ring.get();
            let lists = [&ring.submitted, &ring.in_device, &ring.finished];
            let packets = lists.into_iter().flatten();
            inside.extend(packets.map(|packet| packet.frame().index()));
            waiting += queue.sender.backlog().packets as usize;
        }
        let ended = self.books.freed.len() + self.books.dropped.len();
        let not_ended = self.frames as usize - ended;
        assert!(not_ended >= inside.len() && not_ended <= inside.len() + waiting);
    }

    /// With working devices, and queues that run only when they are scheduled or woken, every
    /// packet ends.
    fn drain(mut self) {
        for index in 0..QUEUES {
            self.queues[index].ring.get().failing_kicks = 0;
            self.queues[index].ring.get().failing_reaps = 0;
            self.run(index);
        }
        for batch in 0..3_000 {
            self.now_ns += 1_000;
            let queue = batch % QUEUES;
            self.queues[queue].ring.get().finish(2);
            let batch = self.queues[queue]
                .completer
                .complete(self.now_ns, &mut self.books);
            if batch.expect("the device works again").schedule {
                self.run(queue);
            }
            while let Some(woken) = (0..QUEUES).find(|&queue| self.wakes[queue].take() > 0) {
                self.run(woken);
            }
            self.check();
        }
        let left = |queue: &Joined| queue.sender.backlog().packets;
        assert_eq!(self.queues.iter().map(left).sum::<u64>(), 0, "all got out");
        assert_eq!(self.budget.in_flight_bytes(), 0);
        let mut frames: Vec<u32> = self.books.freed.clone();
        frames.extend(self.books.dropped.iter().map(|&(frame, _)| frame));
        frames.sort_unstable();
        assert_eq!(frames, (0..self.frames).collect::<Vec<_>>(), "exactly once");
    }

    /// Drops one queue after another. Each releases its own bytes in flight, which the budget
    /// counts per queue as well as in total.
    fn drop_queues(mut self) {
        while let Some(queue) = self.queues.pop() {
            let own_bytes = queue.completer.snapshot().in_flight;
            let before_bytes = self.budget.in_flight_bytes();
            drop(queue);
            assert_eq!(self.budget.in_flight_bytes(), before_bytes - own_bytes);
        }
    }
}

fn play(rule: &AnyLimit, interval_ns: u64, fixed_bytes: Option<u32>, steps: &[Step]) {
    for end in [World::drain, World::drop_queues] {
        let mut world = World::new(rule.clone(), interval_ns, fixed_bytes);
        for step in steps {
            world.step(step);
        }
        end(world);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn charges_equal_bytes_in_flight(
        steps in prop::collection::vec(step(), 1..200),
        bytes in 0u32..20_000,
        interval_ns in 0u64..10_000,
    ) {
        play(&AnyLimit::bytes(bytes), interval_ns, Some(bytes), &steps);
        play(&AnyLimit::dql(), interval_ns, None, &steps);
    }
}
