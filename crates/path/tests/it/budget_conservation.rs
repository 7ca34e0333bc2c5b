//! Whatever is done to the queues of a device, in any order: what the budget counts is what they
//! have in flight, it is never exceeded by more than an object each, and everything gets out.

use std::sync::Arc;
use std::task::Waker;

use crate::support::{Books, FakeRing, Wakes, packet};
use proptest::prelude::*;
use taut_path::budget::{self, Budget, Budgeted, Setup};
use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::qdisc::by_name;
use taut_path::queue::QueueConfig;
use taut_path::{Stop, TxQueue};

const QUEUES: usize = 3;
const LARGEST_BYTES: u32 = 3_000;

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

struct World<R: Limit> {
    budget: Budget<R>,
    queues: Vec<TxQueue<Budgeted<Dynamic, R>, FakeRing>>,
    wakes: Vec<Arc<Wakes>>,
    books: Books,
    now_ns: u64,
    frames: u32,
    /// The budget's limit does not move, so that it can be checked at any time.
    fixed_bytes: Option<u32>,
}

impl<R: Limit> World<R> {
    fn new(rule: R, interval_ns: u64, fixed_bytes: Option<u32>) -> Self {
        let wakes: Vec<Arc<Wakes>> = (0..QUEUES).map(|_| Arc::default()).collect();
        let setups = wakes.iter().map(|wakes| Setup {
            discipline: by_name("pfifo limit 20").expect("it is well formed"),
            limit: Dynamic::default(),
            config: QueueConfig {
                waker: Waker::from(wakes.clone()),
                ..QueueConfig::new(12)
            },
        });
        let (budget, halves) =
            budget::split(rule, interval_ns, setups.collect(), 0).expect("valid settings");
        let queues = halves.into_iter();
        let queues =
            queues.map(|(sender, reaper)| TxQueue::of(sender, reaper, FakeRing::new(12), ()));
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
                let packet = packet(self.frames, bytes);
                self.frames += 1;
                self.queues[queue].enqueue(packet, now_ns, &mut self.books);
            }
            Step::Run(queue) => self.run(queue),
            Step::Finish(queue, packets) => self.queues[queue].driver_mut().finish(packets),
            Step::Complete(queue) => {
                let round = self.queues[queue].complete(now_ns, &mut self.books);
                // A failed reaping is part of the game; wrong books are not.
                assert!(!matches!(
                    round,
                    Err(taut_path::queue::CompleteError::Accounting(_))
                ));
            }
            Step::Reset(queue) => self.queues[queue].reset(now_ns),
            Step::Flush(queue) => self.queues[queue].flush(now_ns, &mut self.books),
            Step::FailKick(queue) => self.queues[queue].driver_mut().failing_kicks += 1,
            Step::FailReap(queue) => self.queues[queue].driver_mut().failing_reap = true,
        }
        self.check();
    }

    /// Runs a queue as an owner does: asks to be woken when it is stopped.
    fn run(&mut self, queue: usize) {
        let queue = &mut self.queues[queue];
        while let Stop::Limit | Stop::RingFull = queue.run(self.now_ns, &mut self.books) {
            if queue.sender().must_wait() {
                return;
            }
        }
    }

    fn check(&self) {
        let own = |queue: &TxQueue<_, FakeRing>| u64::from(queue.snapshot().in_flight);
        let sum: u64 = self.queues.iter().map(own).sum();
        assert_eq!(self.budget.in_flight_bytes(), sum, "charged = in flight");
        for (index, queue) in self.queues.iter().enumerate() {
            assert_eq!(self.budget.in_flight_of_bytes(index), Some(own(queue)));
        }
        if let Some(limit_bytes) = self.fixed_bytes {
            let most = u64::from(limit_bytes) + QUEUES as u64 * u64::from(LARGEST_BYTES);
            assert!(sum <= most, "{sum} of {limit_bytes}");
        }
        let in_rings: usize = self
            .queues
            .iter()
            .map(|queue| queue.driver().packets())
            .sum();
        let waiting = self
            .queues
            .iter()
            .map(|queue| queue.sender().backlog().packets);
        let waiting: u64 = waiting.sum();
        let ended = self.books.freed.len() + self.books.dropped.len();
        assert_eq!(u64::from(self.frames), (ended + in_rings) as u64 + waiting);
    }

    /// Devices that work again, and queues that run when they were told to and not before:
    /// everything gets out.
    fn drain(&mut self) {
        for index in 0..QUEUES {
            self.queues[index].driver_mut().failing_kicks = 0;
            self.queues[index].driver_mut().failing_reap = false;
            self.run(index);
        }
        for round in 0..300 {
            self.now_ns += 1_000;
            let queue = round % QUEUES;
            self.queues[queue].driver_mut().finish(2);
            let round = self.queues[queue].complete(self.now_ns, &mut self.books);
            if round.expect("the device works again").schedule {
                self.run(queue);
            }
            while let Some(woken) = (0..QUEUES).find(|&queue| self.wakes[queue].take() > 0) {
                self.run(woken);
            }
            self.check();
        }
        let left = |queue: &TxQueue<_, FakeRing>| queue.sender().backlog().packets;
        assert_eq!(self.queues.iter().map(left).sum::<u64>(), 0, "all got out");
        assert_eq!(self.budget.in_flight_bytes(), 0);
        let mut frames: Vec<u32> = self.books.freed.clone();
        frames.extend(self.books.dropped.iter().map(|&(frame, _)| frame));
        frames.sort_unstable();
        assert_eq!(frames, (0..self.frames).collect::<Vec<_>>(), "exactly once");
    }
}

fn play<R: Limit>(rule: R, interval_ns: u64, fixed_bytes: Option<u32>, steps: &[Step]) {
    let mut world = World::new(rule, interval_ns, fixed_bytes);
    for step in steps {
        world.step(step);
    }
    world.drain();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_charged_is_what_is_in_flight_and_everything_gets_out(
        steps in prop::collection::vec(step(), 1..200),
        bytes in 0u32..20_000,
        interval_ns in 0u64..10_000,
    ) {
        play(Fixed::bytes(bytes), interval_ns, Some(bytes), &steps);
        play(Dynamic::default(), interval_ns, None, &steps);
    }
}
