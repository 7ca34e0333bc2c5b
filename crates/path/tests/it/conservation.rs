//! For any sequence of operations on a queue: every packet ends exactly once, and all counters
//! agree.

use crate::support::names::small_disciplines_and;
use crate::support::{Books, FakeRing, packet};
use proptest::prelude::*;
use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::queue::{CompleteError, QueueConfig};
use taut_path::{Ecn, Queue, Stop};

#[derive(Debug, Clone)]
enum Step {
    Enqueue { bytes: u32, class: u8 },
    Offer { bytes: u32 },
    Run,
    Finish(usize),
    Complete,
    Reset,
    Flush,
    FailKicks(u32),
    FailReap,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![
        Just(0u32),
        1u32..=1_514,
        Just(65_536),
        Just(taut_dql::MAX_OBJECT + 1)
    ];
    prop_oneof![
        8 => (bytes.clone(), 0u8..16)
            .prop_map(|(bytes, class)| Step::Enqueue { bytes, class }),
        2 => bytes.prop_map(|bytes| Step::Offer { bytes }),
        6 => Just(Step::Run),
        5 => (0usize..12).prop_map(Step::Finish),
        5 => Just(Step::Complete),
        1 => Just(Step::Reset),
        1 => Just(Step::Flush),
        1 => (1u32..3).prop_map(Step::FailKicks),
        1 => Just(Step::FailReap),
        3 => (1u64..2_000_000).prop_map(Step::Wait),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    burst_packets: u32,
    budget_packets: u32,
    coalesce_ns: u64,
}

struct World<L: Limit> {
    queue: Queue<FakeRing, L>,
    books: Books,
    now_ns: u64,
    frames: u32,
    rejected: u64,
    resets: u64,
    /// The largest enqueued packet that can be counted.
    largest_bytes: u32,
}

impl<L: Limit> World<L> {
    fn new(limit: L, discipline: &str, settings: Settings) -> Self {
        let config = QueueConfig {
            restart_slots: Some(7),
            burst_packets: settings.burst_packets,
            reap_budget_packets: settings.budget_packets,
            coalesce_ns: settings.coalesce_ns,
            // Only the coalescer sets the wake-up time then.
            stall_threshold_ns: 0,
            ..QueueConfig::default()
        };
        let mut ring = FakeRing::new(12);
        ring.slots_per_packet = 2;
        let queue = Queue::builder_for(ring)
            .qdisc(discipline.parse().expect("it is well formed"))
            .with_limit(limit)
            .config(config)
            .build(0);
        Self {
            queue: queue.expect("valid settings"),
            books: Books::default(),
            now_ns: 0,
            frames: 0,
            rejected: 0,
            resets: 0,
            largest_bytes: 0,
        }
    }

    fn note(&mut self, bytes: u32) {
        if bytes <= taut_dql::MAX_OBJECT {
            self.largest_bytes = self.largest_bytes.max(bytes.max(1));
        }
    }

    fn step(&mut self, step: &Step) {
        let now_ns = self.now_ns;
        match *step {
            Step::Enqueue { bytes, class } => {
                self.note(bytes);
                let mut packet = packet(self.frames, bytes);
                packet.priority = class;
                packet.flow = (class % 3).into();
                packet.set_ecn(if class % 2 == 0 {
                    Ecn::Capable
                } else {
                    Ecn::NotCapable
                });
                self.frames += 1;
                self.queue.enqueue(packet, now_ns, &mut self.books);
            }
            Step::Offer { bytes } => {
                self.note(bytes);
                let packet = packet(self.frames, bytes);
                match self.queue.offer(packet, now_ns, &mut self.books) {
                    Ok(()) => self.frames += 1,
                    Err(no_room) => {
                        assert_eq!(no_room.0.into_frame().index(), self.frames);
                        self.rejected += 1;
                    }
                }
            }
            Step::Run => {
                // It may be run at any time, whatever stopped it.
                let _ = self.queue.run(now_ns, &mut self.books);
            }
            Step::Finish(count) => self.queue.device_mut().finish(count),
            // A failed reap is allowed here; a wrong ledger is not.
            Step::Complete => {
                let batch = self.queue.complete(now_ns, &mut self.books);
                assert!(!matches!(
                    batch,
                    Err(CompleteError::UnknownCompletions { .. })
                ));
            }
            Step::Reset => {
                self.queue.reset(now_ns);
                self.resets += 1;
            }
            Step::Flush => self.queue.flush(now_ns, &mut self.books),
            Step::FailKicks(count) => self.queue.device_mut().failing_kicks += count,
            Step::FailReap => self.queue.device_mut().failing_reaps = 1,
            Step::Wait(ns) => self.now_ns += ns,
        }
        self.check();
    }

    fn check(&self) {
        let sender = self.queue.sender_counters();
        let completer = self.queue.completer_counters();
        let in_ring = self.queue.device().packets() as u64;
        let (freed, dropped) = (self.books.freed.len(), self.books.dropped.len());
        let ended = (freed + dropped) as u64;
        assert_eq!(
            u64::from(self.frames),
            ended + self.queue.backlog().packets + in_ring,
            "enqueued = ended + waiting + in the ring"
        );
        assert_eq!(sender.enqueued_packets, u64::from(self.frames));
        assert_eq!(sender.drops.total(), dropped as u64);
        assert_eq!(sender.marked_packets, self.books.marked.len() as u64);
        assert_eq!(sender.sent_packets, freed as u64 + in_ring);
        assert_eq!(
            completer.completed_packets + completer.stale_packets,
            freed as u64
        );
        if self.resets == 0 {
            assert_eq!(completer.completed_bytes, self.books.freed_bytes);
        }
        assert!(self.queue.device().most_used <= 12);
        let limit = self.queue.snapshot();
        if limit.min_limit == limit.max_limit && self.largest_bytes > 0 {
            let most = u64::from(limit.limit) + u64::from(self.largest_bytes);
            assert!(u64::from(limit.in_flight) <= most, "more than one above");
        }
    }

    /// With a working device, every queued packet is sent.
    fn drain(&mut self) {
        self.drain_device();
        // Bytes pending in the coalescer are reported at its wake-up time.
        if let Some(wakeup_ns) = self.queue.next_wakeup() {
            self.now_ns = self.now_ns.max(wakeup_ns);
            self.complete();
        }
        assert_eq!(self.queue.snapshot().in_flight, 0, "all was reported");
        assert_eq!(self.queue.next_wakeup(), None, "nothing is left to do");
        let mut frames: Vec<u32> = self.books.freed.clone();
        frames.extend(self.books.dropped.iter().map(|&(frame, _)| frame));
        frames.sort_unstable();
        assert_eq!(frames, (0..self.frames).collect::<Vec<_>>(), "exactly once");
    }

    fn complete(&mut self) {
        let batch = self.queue.complete(self.now_ns, &mut self.books);
        batch.expect("the device works again");
    }

    fn drain_device(&mut self) {
        self.queue.device_mut().failing_kicks = 0;
        self.queue.device_mut().failing_reaps = 0;
        for _ in 0..10_000 {
            let stop = self.queue.run(self.now_ns, &mut self.books);
            assert!(!matches!(stop, Stop::Failed(_)));
            self.queue.device_mut().finish(usize::MAX);
            self.now_ns = (self.now_ns + 1_000).max(self.queue.next_wakeup().unwrap_or(0));
            self.complete();
            self.check();
            if stop == Stop::Idle && self.queue.device().packets() == 0 {
                break;
            }
        }
    }
}

/// Disciplines that overflow and drop packets at both ends, in addition to the default settings.
const DISCIPLINES: [&str; 3] = [
    "pfifo_fast limit 5 total",
    "codel limit 9 target 500us interval 1ms ecn",
    "fq_codel limit 9 flows 4 target 500us interval 1ms memory_limit 128Kb",
];

fn play<L: Limit>(limit: L, discipline: &str, settings: Settings, steps: &[Step]) {
    let mut world = World::new(limit, discipline, settings);
    for step in steps {
        world.step(step);
    }
    world.drain();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_packet_ends_once_and_counters_agree(
        steps in prop::collection::vec(step(), 1..250),
        burst_packets in 1u32..6,
        budget_packets in 1u32..8,
        depth in 1u32..9,
        bytes in 0u32..20_000,
        coalesce_ns in prop_oneof![Just(0u64), 1u64..3_000_000],
    ) {
        let settings = Settings { burst_packets, budget_packets, coalesce_ns };
        for discipline in &small_disciplines_and(&DISCIPLINES) {
            play(Fixed::off(), discipline, settings, &steps);
            play(Fixed::bytes(bytes), discipline, settings, &steps);
            play(Fixed::packets(depth), discipline, settings, &steps);
            play(Dynamic::default(), discipline, settings, &steps);
        }
    }
}
