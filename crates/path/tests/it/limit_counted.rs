//! A rule with a ledger and no packets is the rule that a queue of packets has.

use std::collections::VecDeque;

use proptest::prelude::*;
use taut_dql::Error;
use taut_path::limit::{
    AnyLimit, Dynamic, Fixed, Limit, LimitVisitor, StandaloneLimit, Unit, visit_limit,
};

use crate::support::Bench;
use crate::support::names::limits_in_every_form;

#[derive(Debug, Clone)]
enum Step {
    Enqueue(u32, u32),
    Complete(usize),
    Wait(u64),
    /// The sender comes back, perhaps late.
    Run,
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        400 => (1..60_u32, 1..3_000_u32).prop_map(|(count, bytes)| Step::Enqueue(count, bytes)),
        600 => (0..40_usize).prop_map(Step::Complete),
        300 => (1..300_000_u64).prop_map(Step::Wait),
        500 => Just(Step::Run),
        // Seldom, so that a rule has learnt something to forget.
        1 => Just(Step::Reset),
    ]
}

/// Plays the part of the queue with a ledger alone.
struct Mirror {
    limit: StandaloneLimit<AnyLimit>,
    waiting: VecDeque<u32>,
    in_device: VecDeque<u32>,
}

impl Mirror {
    fn send(&mut self, now_ns: u64) {
        while self.limit.has_room()
            && let Some(units) = self.waiting.pop_front()
        {
            self.limit.queued(units, now_ns).expect("counts");
            self.in_device.push_back(units);
        }
        if !self.waiting.is_empty() {
            self.limit.blocked();
        }
    }

    fn complete(&mut self, count: usize, now_ns: u64) {
        let count = count.min(self.in_device.len());
        let units = self.in_device.drain(..count).sum();
        self.limit.completed(units, false, now_ns).expect("counts");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn standalone_limit_equals_the_queue(
        rule in prop::sample::select(limits_in_every_form()),
        steps in prop::collection::vec(step(), 1..3_000),
    ) {
        let rule: AnyLimit = rule.parse().expect("a rule");
        let in_packets = rule.unit() == Unit::Packets;
        let mut bench = Bench::new(rule.clone(), 10_000);
        let mut mirror = Mirror {
            limit: StandaloneLimit::new(rule, 0),
            waiting: VecDeque::new(),
            in_device: VecDeque::new(),
        };
        for step in steps {
            match step {
                Step::Enqueue(count, bytes) if mirror.waiting.len() < 5_000 => {
                    bench.enqueue(count, bytes);
                    let units = if in_packets { 1 } else { bytes };
                    mirror.waiting.extend((0..count).map(|_| units));
                }
                Step::Enqueue(..) => {}
                Step::Complete(count) => {
                    let _ = bench.complete(count);
                    mirror.complete(count, bench.now_ns);
                }
                Step::Wait(ns) => bench.now_ns += ns,
                Step::Run => {
                    let _ = bench.run();
                    mirror.send(bench.now_ns);
                }
                Step::Reset => {
                    bench.queue.reset(bench.now_ns);
                    let now_ns = bench.now_ns;
                    // What the device had comes back too late to count.
                    let _ = bench.complete(usize::MAX);
                    mirror.limit.reset(now_ns);
                    mirror.in_device.clear();
                }
            }
            prop_assert_eq!(mirror.limit.in_flight(), bench.queue.in_flight());
            prop_assert_eq!(mirror.limit.limit(), bench.queue.limit().limit());
        }
    }
}

#[test]
fn invalid_counts_are_rejected_without_effect() {
    let mut limit = StandaloneLimit::new(Dynamic::default(), 0);
    limit.queued(1_000, 0).expect("counts");
    let too_much = Error::OverCompletion {
        units: 1_001,
        in_flight: 1_000,
    };
    assert_eq!(limit.completed(1_001, false, 1), Err(too_much));
    assert!(limit.unqueue(999).is_err());
    assert_eq!(limit.in_flight(), 1_000);
    limit.unqueue(1_000).expect("the last one");
    assert!(limit.unqueue(1_000).is_err(), "unqueued already");
    assert!(limit.queued(u32::MAX, 0).is_err());
    assert_eq!((limit.in_flight(), limit.room()), (0, 0));
}

#[test]
fn empty_batch_has_no_effect() {
    let mut limit = StandaloneLimit::new(Dynamic::default(), 0);
    for round in 1..=50 {
        for _ in 0..10 {
            limit.queued(1_000, round * 1_000_000).expect("counts");
        }
        limit
            .completed(10_000, false, round * 1_000_000)
            .expect("counts");
    }
    let settled = limit.limit();
    for poll in 0..3_000_u64 {
        limit
            .completed(0, false, (51 + poll) * 1_000_000)
            .expect("nothing");
    }
    assert_eq!(limit.limit(), settled);
}

/// Creates a limit and does nothing with it.
struct Create;

impl LimitVisitor for Create {
    type Output = ();

    fn visit<L: Limit>(self, limit: L) {
        std::hint::black_box(&limit);
    }
}

#[test]
fn limit_by_name_needs_no_heap() {
    for name in limits_in_every_form() {
        let made = allocation_counter::measure(|| visit_limit(&name, Create).expect("a rule"));
        assert_eq!(made.count_total, 0, "{name}");
    }
    let off = StandaloneLimit::new(Fixed::off(), 0);
    assert!(off.has_room());
}
