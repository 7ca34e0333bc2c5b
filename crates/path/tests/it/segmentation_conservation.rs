//! For any sequence of operations and any order of completions: the frame of a GSO packet in chunks
//! ends exactly once, with its whole length and its flow's budget, and never while a chunk of it is
//! in the device.

use std::collections::BTreeMap;

use crate::support::{FakeRing, packet};
use proptest::prelude::*;
use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::qdisc::{AnyQdisc, Shaped};
use taut_path::queue::{CompleteError, QueueConfig};
use taut_path::tsq::{Charges, Flow, FlowBudgets, ReleasingSink, Settings};
use taut_path::{
    DropReason, Event, LateSegmentation, Packet, PacketSink, Probe, Queue, Segmentation, Stop,
};

const HEADER_BYTES: u16 = 54;
const EACH_BYTES: u16 = 1_000;

#[derive(Debug, Clone)]
enum Step {
    Enqueue {
        payload: u32,
        class: u8,
        charged: bool,
    },
    Run,
    /// Completes the object at this position in the device.
    Finish(usize),
    Complete,
    Reset,
    Flush,
    /// The device rejects longer objects from now on.
    Refuse(u32),
    FailKicks(u32),
    FailReap,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let payload = prop_oneof![0u32..1_001, 1_001u32..9_000, Just(65_000)];
    prop_oneof![
        8 => (payload, 0u8..16, any::<bool>())
            .prop_map(|(payload, class, charged)| Step::Enqueue { payload, class, charged }),
        7 => Just(Step::Run),
        8 => (0usize..12).prop_map(Step::Finish),
        6 => Just(Step::Complete),
        1 => Just(Step::Reset),
        1 => Just(Step::Flush),
        1 => prop_oneof![Just(1_040u32), 500u32..5_000, Just(u32::MAX)].prop_map(Step::Refuse),
        1 => (1u32..3).prop_map(Step::FailKicks),
        1 => Just(Step::FailReap),
        3 => (1u64..2_000_000).prop_map(Step::Wait),
    ]
}

/// The state of the segments of a frame.
#[derive(Debug, Default)]
struct Sent {
    /// Segments submitted, from the first on.
    segments: u32,
    whole: bool,
    last: bool,
}

/// Records sent packets.
#[derive(Default)]
struct Ear {
    sent: BTreeMap<u32, Sent>,
    waiting_packets: i64,
}

impl Probe for Ear {
    fn event(&mut self, _now_ns: u64, event: Event<'_>) {
        match event {
            Event::Enqueued(_) | Event::Requeued(_) => self.waiting_packets += 1,
            Event::Dropped(_, DropReason::Uncountable | DropReason::DeviceRefused) => {}
            Event::Dequeued(_) | Event::Dropped(..) => self.waiting_packets -= 1,
            Event::Sent(packet) => {
                let sent = self.sent.entry(packet.frame().index()).or_default();
                assert!(!sent.whole && !sent.last, "nothing follows the last");
                match packet.chunk() {
                    None => sent.whole = true,
                    Some(chunk) => {
                        assert_eq!(chunk.first_segment, sent.segments, "in order");
                        sent.segments += packet.segments();
                        sent.last = chunk.is_last;
                    }
                }
            }
            _ => {}
        }
    }
}

/// The packets below: the length and the charge of each frame.
#[derive(Default)]
struct Below {
    frames: BTreeMap<u32, (u32, u64)>,
    /// Segments of segmented packets that completed or were dropped.
    segments: BTreeMap<u32, u32>,
    dropped: u64,
}

impl Below {
    fn end(&mut self, packet: Packet) {
        assert_eq!(packet.chunk(), None, "a sink sees whole packets");
        let (bytes, segments) = (packet.wire_bytes(), packet.segments());
        let frame = packet.into_frame().index();
        if let Some(ended) = self.segments.remove(&frame) {
            assert_eq!(ended, segments, "each segment of frame {frame} ends once");
        }
        let was = self.frames.remove(&frame).map(|(bytes, _)| bytes);
        assert_eq!(was, Some(bytes), "frame {frame} ends once, as it came");
    }
}

impl PacketSink for Below {
    fn freed(&mut self, packet: Packet) {
        self.end(packet);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.dropped += 1;
        self.end(packet);
    }

    fn chunk_freed(&mut self, chunk: &Packet) {
        assert!(chunk.chunk().is_some());
        *self.segments.entry(chunk.frame().index()).or_default() += chunk.segments();
    }

    fn segments_dropped(&mut self, of: &Packet, _reason: DropReason) {
        *self.segments.entry(of.frame().index()).or_default() += of.segments();
    }

    fn unknown_completion(&mut self, _packet: Packet) {
        panic!("the ring returns submitted packets only");
    }
}

struct World<L: Limit> {
    queue: Queue<FakeRing, L, AnyQdisc, Ear>,
    flow: Flow,
    charges: Charges,
    below: Below,
    frames: u32,
    now_ns: u64,
}

impl<L: Limit> World<L> {
    fn new(limit: L, discipline: &str, split: LateSegmentation) -> Self {
        let config = QueueConfig {
            reap_budget_packets: 5,
            late_segmentation: split,
            ..QueueConfig::default()
        };
        let qdisc = match discipline.strip_prefix("shaped ") {
            None => discipline.parse(),
            Some(inner) => inner
                .parse()
                .map(|inner: AnyQdisc| AnyQdisc::new("shaped", Shaped::new(inner, 1 << 30, 1_000))),
        };
        let queue = Queue::builder_for(FakeRing::new(12))
            .qdisc(qdisc.expect("it is well formed"))
            .with_limit(limit)
            .probe(Ear::default())
            .config(config)
            .build(0);
        let budgets = FlowBudgets::new(1, Settings::default()).expect("valid");
        Self {
            queue: queue.expect("valid settings"),
            flow: budgets.open(0).expect("free"),
            charges: budgets.charges(250),
            below: Below::default(),
            frames: 0,
            now_ns: 0,
        }
    }

    fn enqueue(&mut self, payload: u32, class: u8, charged: bool) {
        let bytes = u32::from(HEADER_BYTES) + payload;
        let mut packet = packet(self.frames, bytes).with_charge(bytes + 700);
        packet.priority = class;
        packet.flow = (class % 3).into();
        if payload > u32::from(EACH_BYTES) {
            packet.segmentation = Segmentation::new(HEADER_BYTES, EACH_BYTES);
        }
        let mut charge = 0;
        if charged {
            assert!(self.charges.charge(&self.flow, &packet));
            charge = u64::from(bytes + 700);
        }
        self.below.frames.insert(self.frames, (bytes, charge));
        self.frames += 1;
        let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
        self.queue.enqueue(packet, self.now_ns, sink);
    }

    fn step(&mut self, step: &Step) {
        let now_ns = self.now_ns;
        let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
        match *step {
            Step::Enqueue {
                payload,
                class,
                charged,
            } => self.enqueue(payload, class, charged),
            Step::Run => {
                let _ = self.queue.run(now_ns, sink);
            }
            Step::Finish(index) => {
                let ring = self.queue.device_mut();
                let index = index.min(ring.in_device.len().saturating_sub(1));
                let packet = ring.in_device.remove(index);
                ring.finished.extend(packet);
            }
            Step::Complete => {
                let batch = self.queue.complete(now_ns, sink);
                assert!(!matches!(
                    batch,
                    Err(CompleteError::UnknownCompletions { .. })
                ));
            }
            Step::Reset => self.queue.reset(now_ns),
            Step::Flush => self.queue.flush(now_ns, sink),
            Step::Refuse(bytes) => self.queue.device_mut().longest_bytes = bytes,
            Step::FailKicks(count) => self.queue.device_mut().failing_kicks += count,
            Step::FailReap => self.queue.device_mut().failing_reaps = 1,
            Step::Wait(ns) => self.now_ns += ns,
        }
        self.check();
    }

    fn check(&self) {
        let ring = self.queue.device();
        let lists = [&ring.submitted, &ring.in_device, &ring.finished];
        for packet in lists.into_iter().flatten() {
            let frame = packet.frame().index();
            assert!(self.below.frames.contains_key(&frame), "{frame} is in use");
        }
        let (sender, completer) = (
            self.queue.sender_counters(),
            self.queue.completer_counters(),
        );
        assert_eq!(
            sender.sent_packets,
            completer.completed_packets + completer.stale_packets + ring.packets() as u64,
            "objects"
        );
        let waiting = self.queue.backlog().packets;
        assert_eq!(self.queue.probe().waiting_packets, waiting as i64);
        assert!(sender.drops.total() >= self.below.dropped);
        let charges = self.below.frames.values().map(|&(_, charge)| charge);
        let charged = self.flow.snapshot().charged_bytes;
        assert_eq!(charged, charges.sum(), "what is below is charged");
        assert!(ring.most_used <= 12);
    }

    /// With a working device, every packet ends.
    fn drain(&mut self) {
        let ring = self.queue.device_mut();
        (ring.failing_kicks, ring.failing_reaps) = (0, 0);
        ring.longest_bytes = u32::MAX;
        for _ in 0..10_000 {
            let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
            let stop = self.queue.run(self.now_ns, sink);
            let ring = self.queue.device_mut();
            ring.finish(usize::MAX);
            self.now_ns += 100_000;
            let sink = &mut ReleasingSink::new(&self.charges, &mut self.below);
            let batch = self.queue.complete(self.now_ns, sink);
            assert!(batch.is_ok());
            self.check();
            if stop == Stop::Idle && self.queue.device().packets() == 0 {
                break;
            }
        }
        assert_eq!(self.below.frames.len(), 0, "every frame came back");
        assert_eq!(self.flow.snapshot().charged_bytes, 0);
        assert_eq!(self.queue.in_flight(), 0);
        assert_eq!(self.queue.backlog(), Default::default());
        let counters = self.queue.sender_counters();
        assert_eq!(counters.drops.total(), self.below.dropped);
        assert!(counters.chunks >= counters.segmented_packets);
    }
}

const DISCIPLINES: [&str; 6] = [
    "pfifo limit 9",
    "pfifo_fast limit 5",
    "pfifo_fast limit 9 total",
    "codel limit 9 target 500us interval 1ms ecn",
    "fq_codel limit 9 flows 4 target 500us interval 1ms memory_limit 128Kb",
    "shaped fq_codel limit 9 flows 4",
];

fn play<L: Limit>(limit: L, discipline: &str, split: LateSegmentation, steps: &[Step]) {
    let mut world = World::new(limit, discipline, split);
    for step in steps {
        world.step(step);
    }
    world.drain();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_frame_ends_once_after_its_last_chunk(
        steps in prop::collection::vec(step(), 1..250),
        depth in 1u32..9,
        bytes in 0u32..20_000,
        split in prop_oneof![
            Just(LateSegmentation::EachSegment),
            Just(LateSegmentation::Auto),
            (1u32..20).prop_map(LateSegmentation::ChunksPerLimit),
            (1_000u64..5_000_000).prop_map(LateSegmentation::Time),
        ],
    ) {
        for discipline in DISCIPLINES {
            play(Fixed::off(), discipline, split, &steps);
            play(Fixed::bytes(bytes), discipline, split, &steps);
            play(Fixed::packets(depth), discipline, split, &steps);
            play(Dynamic::default(), discipline, split, &steps);
        }
    }
}
