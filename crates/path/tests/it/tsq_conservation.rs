//! For any sequence of operations: the budgets sum to the charges of the packets below the sockets,
//! and no flow with room stays throttled.

use std::collections::BTreeMap;

use crate::support::{FakeRing, packet};
use proptest::prelude::*;
use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::qdisc::DISCIPLINES;
use taut_path::queue::QueueConfig;
use taut_path::tsq::{Charges, Flow, FlowBudgets, ReleasingSink, SendRequest, Settings, Sizing};
use taut_path::{DropReason, Packet, PacketSink, Queue, Stop};

const SLOTS: u32 = 4;

#[derive(Debug, Clone)]
enum Step {
    Open,
    Close(usize),
    Send {
        flow: usize,
        charge_bytes: u32,
        ask: bool,
    },
    Run,
    Finish(usize),
    Complete,
    RunDeferred,
    Reset,
    Flush,
    Busy(usize),
    FailKicks(u32),
    FailReap,
    Wait(u64),
}

fn settings() -> impl Strategy<Value = Settings> {
    let limit = prop_oneof![Just(0u32), 1u32..20_000, Just(u32::MAX)];
    (limit, 0u32..3).prop_map(|(limit_bytes, rate)| Settings {
        sizing: match rate {
            0 => Sizing::Fixed,
            time => Sizing::Rate {
                time_ns: time * 500_000,
            },
        },
        limit_bytes,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let flow = 0usize..SLOTS as usize;
    let charge = prop_oneof![Just(0u32), Just(768), Just(2_304), 1u32..70_000];
    prop_oneof![
        3 => Just(Step::Open),
        1 => flow.clone().prop_map(Step::Close),
        12 => (flow.clone(), charge, prop::bool::weighted(0.8))
            .prop_map(|(flow, charge_bytes, ask)| Step::Send { flow, charge_bytes, ask }),
        6 => Just(Step::Run),
        5 => (0usize..12).prop_map(Step::Finish),
        5 => Just(Step::Complete),
        2 => Just(Step::RunDeferred),
        1 => Just(Step::Reset),
        1 => Just(Step::Flush),
        1 => flow.prop_map(Step::Busy),
        1 => (1u32..3).prop_map(Step::FailKicks),
        1 => Just(Step::FailReap),
        3 => (1u64..2_000_000).prop_map(Step::Wait),
    ]
}

/// The packets below the sockets: the flow and the charge of each frame.
#[derive(Default)]
struct Below(BTreeMap<u32, (u32, u64)>);

impl PacketSink for Below {
    fn freed(&mut self, packet: Packet) {
        let frame = packet.into_frame();
        self.0.remove(&frame.index()).expect("it was below, once");
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.freed(packet);
    }
}

impl Below {
    fn of(&self, tag: Option<u32>) -> (u64, u64) {
        let theirs = |&&(owner, _): &&(u32, u64)| tag.is_none_or(|tag| tag == owner);
        let charges = self.0.values().filter(theirs).map(|&(_, bytes)| bytes);
        (charges.clone().count() as u64, charges.sum())
    }
}

struct World<L: Limit> {
    queue: Queue<FakeRing, L>,
    budgets: FlowBudgets,
    charges: Charges,
    /// The open flows, with a unique tag, and whether their owner has the lock.
    flows: Vec<(u32, Flow, bool)>,
    below: Below,
    tags: u32,
    frames: u32,
    now_ns: u64,
}

impl<L: Limit> World<L> {
    fn new(limit: L, discipline: &str, settings: Settings) -> Self {
        let config = QueueConfig {
            reap_budget_packets: 5,
            ..QueueConfig::default()
        };
        let queue = Queue::builder_for(FakeRing::new(12))
            .qdisc(discipline.parse().expect("it is well formed"))
            .with_limit(limit)
            .config(config)
            .build(0);
        let budgets = FlowBudgets::new(SLOTS, settings).expect("valid settings");
        Self {
            queue: queue.expect("valid settings"),
            charges: budgets.charges(1_000),
            budgets,
            flows: Vec::new(),
            below: Below::default(),
            tags: 0,
            frames: 0,
            now_ns: 0,
        }
    }

    fn send(&mut self, flow: usize, charge_bytes: u32, ask: bool) {
        let Some((tag, flow, _)) = self.flows.get(flow) else {
            return;
        };
        let request = SendRequest {
            packet_bytes: charge_bytes,
            rate_bytes_per_s: 3_000_000,
        };
        if ask && !flow.may_send(request) {
            let seen = flow.snapshot();
            assert!(seen.packets > 1 && seen.charged_bytes > seen.limit_bytes);
            return;
        }
        let mut packet = packet(self.frames, 1_514).with_charge(charge_bytes);
        packet.priority = (self.frames % 16) as u8;
        packet.flow = *tag;
        assert!(self.charges.charge(flow, &packet), "at most 250 packets");
        self.below
            .0
            .insert(self.frames, (*tag, charge_bytes.into()));
        self.frames += 1;
        let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
        self.queue.enqueue(packet, self.now_ns, sink);
    }

    /// Runs the list; each flow on it may send again.
    fn run_deferred(&mut self) {
        let mut run = Vec::new();
        self.budgets.run_deferred(|tag| run.push(tag));
        for tag in run {
            let flow = self.flows.iter().find(|(open, ..)| *open == tag);
            let (_, _, busy) = flow.expect("only open flows are run");
            assert!(!busy, "not while the owner has the lock");
        }
    }

    fn step(&mut self, step: &Step) {
        let now_ns = self.now_ns;
        let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
        match *step {
            Step::Open => {
                if let Ok(flow) = self.budgets.open(self.tags) {
                    self.flows.push((self.tags, flow, false));
                    self.tags += 1;
                }
            }
            Step::Close(flow) => {
                if flow < self.flows.len() {
                    self.flows.remove(flow);
                }
            }
            Step::Send {
                flow,
                charge_bytes,
                ask,
            } => self.send(flow, charge_bytes, ask),
            // Failed doorbells and reaps are allowed here.
            Step::Run => drop(self.queue.run(now_ns, sink)),
            Step::Finish(count) => self.queue.device_mut().finish(count),
            Step::Complete => drop(self.queue.complete(now_ns, sink)),
            Step::RunDeferred => self.run_deferred(),
            Step::Reset => self.queue.reset(now_ns),
            Step::Flush => self.queue.flush(now_ns, sink),
            Step::Busy(flow) => {
                if let Some((_, flow, busy)) = self.flows.get_mut(flow) {
                    if *busy {
                        while !flow.try_unlock() {}
                    } else {
                        assert!(flow.try_lock_or_mark(), "it is unlocked");
                    }
                    *busy = !*busy;
                }
            }
            Step::FailKicks(count) => self.queue.device_mut().failing_kicks += count,
            Step::FailReap => self.queue.device_mut().failing_reaps = 1,
            Step::Wait(ns) => self.now_ns += ns,
        }
        self.check();
    }

    fn check(&self) {
        let in_queue = self.queue.backlog().packets;
        let in_ring = self.queue.device().packets() as u64;
        let (packets, bytes) = self.below.of(None);
        assert_eq!(in_queue + in_ring, packets, "the test's own books");
        assert_eq!(
            (self.budgets.packets(), self.budgets.charged_bytes()),
            (packets, bytes)
        );
        for (tag, flow, _) in &self.flows {
            let seen = flow.snapshot();
            let theirs = (u64::from(seen.packets), seen.charged_bytes);
            assert_eq!(theirs, self.below.of(Some(*tag)), "of flow {tag}");
            let has_room = seen.packets <= 1 || seen.charged_bytes <= seen.limit_bytes;
            assert!(!(seen.is_throttled && has_room), "flow {tag} was forgotten");
        }
    }

    /// With all packets freed, all budgets are released and every slot can be reused.
    fn drain(mut self) {
        let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
        self.queue.flush(self.now_ns, sink);
        self.queue.device_mut().failing_kicks = 0;
        self.queue.device_mut().failing_reaps = 0;
        // A deferred doorbell is rung here.
        let stop = self.queue.run(self.now_ns, sink);
        assert!(!matches!(stop, Stop::Failed(_)));
        while self.queue.device().packets() > 0 {
            self.queue.device_mut().finish(usize::MAX);
            let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
            let batch = self.queue.complete(self.now_ns, sink);
            assert_eq!(batch.expect("the device works again").stalled, None);
            self.check();
        }
        assert_eq!(self.below.of(None), (0, 0));
        self.run_deferred();
        assert!(!self.budgets.has_deferred());
        self.flows.clear();
        let again: Vec<_> = (0..SLOTS).map(|tag| self.budgets.open(tag)).collect();
        assert!(again.iter().all(Result::is_ok), "no slot is lost");
    }
}

fn play<L: Limit>(limit: L, discipline: &str, settings: Settings, steps: &[Step]) {
    let mut world = World::new(limit, discipline, settings);
    for step in steps {
        world.step(step);
    }
    world.drain();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn budgets_sum_to_charges_below_sockets(
        steps in prop::collection::vec(step(), 1..250),
        bytes in 0u32..20_000,
        settings in settings(),
    ) {
        for discipline in DISCIPLINES {
            play(Fixed::off(), discipline.name, settings, &steps);
            play(Fixed::bytes(bytes), discipline.name, settings, &steps);
        }
        // Small limits, so that packets are dropped.
        for discipline in ["pfifo limit 6", "pfifo_fast limit 3 total"] {
            play(Fixed::bytes(bytes), discipline, settings, &steps);
            play(Dynamic::default(), discipline, settings, &steps);
        }
    }
}
