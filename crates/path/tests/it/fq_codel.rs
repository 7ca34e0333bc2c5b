//! FQ-CoDel against RFC 8290: the order of flows, and the drops of an overflow.

use crate::support::{Books, packet};
use proptest::prelude::*;
use taut_path::qdisc::{CodelConfig, FqCodel, FqCodelConfig, Qdisc};
use taut_path::{DropReason, Ecn, Packet};

const MS: u64 = 1_000_000;
const SUPER_PACKET_BYTES: u32 = 65_536;

/// Scheduling only: no packet waits too long.
fn patient() -> FqCodelConfig {
    FqCodelConfig {
        limit_packets: 100_000,
        flows: 65_536,
        memory_limit_bytes: u64::MAX,
        codel: CodelConfig {
            target_ns: u64::MAX,
            ..CodelConfig::default()
        },
        ..FqCodelConfig::default()
    }
}

/// Returns flows that do not share a queue.
fn flows_apart(fq: &FqCodel, count: usize) -> Vec<u32> {
    let mut taken = std::collections::HashSet::new();
    (0..)
        .filter(|&flow| taken.insert(fq.queue_of(flow)))
        .take(count)
        .collect()
}

fn of_flow(flow: u32, bytes: u32) -> Packet {
    let mut packet = packet(0, bytes);
    packet.flow = flow;
    packet
}

fn frame_of(packet: Packet) -> u32 {
    packet.into_frame().index()
}

/// Flows with unlimited data, and the bytes that each has sent.
struct Backlogged {
    fq: FqCodel,
    flows: Vec<u32>,
    sent_bytes: Vec<u64>,
    draw: u64,
    sizes: (u32, u32),
    largest: u32,
}

impl Backlogged {
    fn new(quantum_bytes: u32, flows: usize, sizes: (u32, u32), seed: u64) -> Self {
        let config = FqCodelConfig {
            quantum_bytes,
            ..patient()
        };
        let fq = FqCodel::new(config);
        let flows = flows_apart(&fq, flows);
        let sent_bytes = vec![0; flows.len()];
        let mut all = Self {
            fq,
            flows,
            sent_bytes,
            draw: seed,
            sizes,
            largest: 0,
        };
        for flow in 0..all.flows.len() {
            all.enqueue(flow);
            all.enqueue(flow);
        }
        all
    }

    /// Small and large packets, so that averages hide no difference.
    fn enqueue(&mut self, at: usize) {
        self.draw = self
            .draw
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (least, most) = self.sizes;
        let bytes = match self.draw >> 62 {
            0 => least,
            1 => most,
            _ => least + (self.draw >> 33) as u32 % (most - least + 1),
        };
        self.largest = self.largest.max(bytes);
        self.fq
            .enqueue(of_flow(self.flows[at], bytes), 0, &mut Books::default());
    }

    fn dequeue(&mut self) {
        let packet = self
            .fq
            .dequeue(0, &mut Books::default())
            .expect("all are backlogged");
        let at = self
            .flows
            .iter()
            .position(|&flow| flow == packet.flow)
            .expect("it is ours");
        self.sent_bytes[at] += u64::from(packet.wire_bytes());
        drop(packet.into_frame());
        self.enqueue(at);
    }

    /// Returns the difference between the flows that sent most and least.
    fn ahead_bytes(&self) -> u64 {
        let (most, least) = (self.sent_bytes.iter().max(), self.sent_bytes.iter().min());
        most.zip(least).map_or(0, |(most, least)| most - least)
    }
}

#[test]
fn flows_are_fair_within_quantum_and_packet() {
    let mut all = Backlogged::new(1514, 1_000, (64, SUPER_PACKET_BYTES), 7);
    for _ in 0..20_000 {
        all.dequeue();
        assert!(all.ahead_bytes() < 1514 + u64::from(all.largest));
    }
    assert!(all.sent_bytes.iter().all(|&bytes| bytes > 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_flow_exceeds_quantum_plus_packet(
        quantum in prop_oneof![Just(256u32), Just(1_514), 256u32..70_000],
        flows in 2usize..40,
        least in 1u32..2_000,
        span in 0u32..65_536,
        seed in any::<u64>(),
    ) {
        let mut all = Backlogged::new(quantum, flows, (least, least + span), seed);
        for _ in 0..500 {
            all.dequeue();
            prop_assert!(all.ahead_bytes() < u64::from(quantum) + u64::from(all.largest));
        }
    }
}

#[test]
fn new_flow_is_served_first() {
    let mut all = Backlogged::new(1514, 200, (1514, 1514), 1);
    for _ in 0..1_000 {
        all.dequeue();
    }
    let sparse = flows_apart(&all.fq, 201)[200];
    let mut books = Books::default();
    for _ in 0..50 {
        all.fq.enqueue(of_flow(sparse, 100), 0, &mut books);
        let next = all
            .fq
            .dequeue(0, &mut books)
            .expect("a packet of the new flow");
        assert_eq!(next.flow, sparse);
        drop(next.into_frame());
        // It leaves the lists only after the others had a turn.
        for _ in 0..400 {
            all.dequeue();
        }
    }
}

#[test]
fn recurring_new_flows_do_not_starve_others() {
    let mut fq = FqCodel::new(patient());
    let flows = flows_apart(&fq, 3);
    let (bulk, eager) = (flows[0], [flows[1], flows[2]]);
    let mut books = Books::default();
    let mut of_bulk = 0;
    for _ in 0..200 {
        fq.enqueue(of_flow(bulk, 1514), 0, &mut books);
    }
    // Two flows alternate with small packets: when one is found empty, within its first quantum,
    // the other has just become active.
    for step in 0..300 {
        fq.enqueue(of_flow(eager[step % 2], 100), 0, &mut books);
        let packet = fq.dequeue(0, &mut books).expect("there is one");
        of_bulk += usize::from(packet.flow == bulk);
        assert_eq!(frame_of(packet), 0);
    }
    // One packet of it for 16 and 16 of theirs.
    assert!(of_bulk >= 300 / 33, "{of_bulk} of 300");
}

/// A queue for 100 packets, with the packets of each flow.
struct Full {
    fq: FqCodel,
    flows: Vec<u32>,
    books: Books,
    next_frame: u32,
}

impl Full {
    fn new(config: FqCodelConfig) -> Self {
        let fq = FqCodel::new(config);
        let flows = flows_apart(&fq, 5);
        Self {
            fq,
            flows,
            books: Books::default(),
            next_frame: 0,
        }
    }

    fn enqueue(&mut self, flow: usize, packets: u32, bytes: u32, charge_bytes: u32) {
        for _ in 0..packets {
            let mut packet = packet(self.next_frame, bytes).with_charge(charge_bytes);
            packet.flow = self.flows[flow];
            self.next_frame += 1;
            let (before, accepts) = (self.books.dropped.len(), self.fq.accepts(&packet));
            self.fq.enqueue(packet, 0, &mut self.books);
            assert_eq!(
                accepts,
                self.books.dropped.len() == before,
                "accepts was right"
            );
        }
    }

    fn dropped(&self) -> Vec<u32> {
        self.books.dropped.iter().map(|&(frame, _)| frame).collect()
    }
}

#[test]
fn full_queue_drops_half_of_the_longest_flow() {
    let mut full = Full::new(FqCodelConfig {
        limit_packets: 100,
        ..patient()
    });
    full.enqueue(0, 60, 100, 100); // frames 0 to 59, 6,000 bytes
    full.enqueue(1, 20, 1_000, 1_000); // frames 60 to 79, 20,000 bytes
    full.enqueue(2, 20, 900, 900); // 18,000 bytes
    assert_eq!(full.dropped(), []);
    full.enqueue(3, 1, 64, 64);
    assert_eq!(full.dropped(), (60..70).collect::<Vec<_>>());
    // 10,000 bytes of it remain, so the third flow is the longest now.
    full.enqueue(3, 9, 64, 64);
    assert_eq!(full.dropped().len(), 10, "there is room again");
    full.enqueue(3, 1, 64, 64);
    assert_eq!(full.dropped()[10..], (80..90).collect::<Vec<_>>());
    let reasons = full.books.dropped.iter().map(|&(_, reason)| reason);
    assert!(
        reasons
            .into_iter()
            .all(|reason| reason == DropReason::QueueFull)
    );
}

proptest! {
    #[test]
    fn longest_flow_is_always_the_one_dropped(
        steps in prop::collection::vec((any::<bool>(), 0usize..8, 1u32..5_000), 1..400),
    ) {
        let mut fq = FqCodel::new(FqCodelConfig { limit_packets: 12, ..patient() });
        let flows = flows_apart(&fq, 8);
        let mut waiting = vec![Vec::new(); flows.len()];
        let bytes_of = |queue: &Vec<(u32, u32)>| queue.iter().map(|&(_, bytes)| bytes).sum::<u32>();
        for (frame, (enqueue, at, bytes)) in steps.into_iter().enumerate() {
            let mut books = Books::default();
            if enqueue {
                let mut packet = packet(frame as u32, bytes);
                packet.flow = flows[at];
                waiting[at].push((frame as u32, bytes));
                fq.enqueue(packet, 0, &mut books);
            } else if let Some(packet) = fq.dequeue(0, &mut books) {
                let at = flows.iter().position(|&flow| flow == packet.flow).expect("ours");
                prop_assert_eq!(waiting[at].remove(0).0, frame_of(packet));
            }
            let longest = waiting.iter().map(bytes_of).max().unwrap_or(0);
            for (number, (frame, _)) in books.dropped.into_iter().enumerate() {
                let is_first = |head: &(u32, u32)| head.0 == frame;
                let holds = |queue: &Vec<(u32, u32)>| queue.first().is_some_and(is_first);
                let at = waiting.iter().position(holds).expect("the oldest of a flow");
                prop_assert!(number > 0 || bytes_of(&waiting[at]) == longest);
                waiting[at].remove(0);
            }
        }
    }
}

#[test]
fn at_most_64_packets_are_dropped_at_once() {
    let mut full = Full::new(FqCodelConfig {
        limit_packets: 300,
        ..patient()
    });
    full.enqueue(0, 301, 100, 100);
    assert_eq!(full.dropped(), (0..64).collect::<Vec<_>>());
    let mut full = Full::new(FqCodelConfig {
        limit_packets: 1,
        ..patient()
    });
    full.enqueue(0, 1, 100, 100);
    full.enqueue(1, 1, 200, 200);
    assert_eq!(
        full.dropped(),
        [1],
        "even a new packet, if its flow is the longest"
    );
}

#[test]
fn memory_limit_counts_charges() {
    let mut full = Full::new(FqCodelConfig {
        memory_limit_bytes: 100_000,
        ..patient()
    });
    // In bytes on the wire it is the smaller flow; in memory the larger.
    full.enqueue(0, 40, 64, 2_304);
    full.enqueue(1, 3, 1_514, 2_304);
    assert_eq!(full.dropped(), [], "43 packets charge 99,072");
    full.enqueue(1, 1, 1_514, 2_304);
    assert_eq!(full.dropped(), [40, 41], "half of 6,056 bytes");
    full.enqueue(0, 1, 64, 2_304);
    // One bulk drop might not suffice: for a large packet, every small one has to be dropped.
    full.enqueue(2, 1, 60, 99_000);
    let (waiting, dropped) = (full.fq.backlog().packets, full.dropped().len() as u64);
    assert_eq!((waiting, waiting + dropped), (1, 46));
    let reasons = full.books.dropped.iter().map(|&(_, reason)| reason);
    assert!(
        reasons
            .into_iter()
            .all(|reason| reason == DropReason::MemoryFull)
    );
    // A packet with a charge above the limit can never be queued.
    full.enqueue(3, 1, 1_000, 100_001);
    assert_eq!(full.fq.backlog().packets, 1);
    assert_eq!(full.dropped().last(), Some(&46));
}

#[test]
fn empty_packets_can_be_dropped() {
    let mut full = Full::new(FqCodelConfig {
        limit_packets: 9,
        ..patient()
    });
    for flow in [3, 4] {
        full.enqueue(flow, 10, 0, 0);
    }
    assert!(full.fq.backlog().packets <= 9);
    assert_eq!(full.fq.backlog().packets + full.dropped().len() as u64, 20);
}

#[test]
fn flow_emptied_by_drops_has_no_state() {
    let config = FqCodelConfig {
        limit_packets: 3,
        codel: CodelConfig::default(),
        ..patient()
    };
    let mut full = Full::new(config);
    full.enqueue(0, 1, 3_000, 1);
    full.enqueue(0, 1, 60_000, 1);
    // It waited too long, and there are more: an interval begins.
    let first = full.fq.dequeue(10 * MS, &mut full.books);
    assert_eq!(first.map(frame_of), Some(0));
    // Other flows push out its remaining packets.
    full.enqueue(1, 3, 100, 1);
    assert_eq!(full.dropped(), [1]);
    for frame in 2..5 {
        let other = full.fq.dequeue(11 * MS, &mut full.books);
        assert_eq!(other.map(frame_of), Some(frame));
    }
    // It is empty, but had no turn since. Long after that interval it sends again, and waits too
    // long for the first time.
    full.enqueue(0, 2, 3_000, 1);
    let first = full.fq.dequeue(300 * MS, &mut full.books);
    assert_eq!(first.map(frame_of), Some(5));
    assert_eq!(full.dropped(), [1]);
}

#[test]
fn each_flow_has_its_own_target() {
    let mut fq = FqCodel::new(FqCodelConfig::default());
    let mut books = Books::default();
    let flows = flows_apart(&fq, 3);
    let (mut now_ns, mut frame) = (0, 0);
    let mut send = |fq: &mut FqCodel, flow: usize, ecn, now_ns, books: &mut Books| {
        let mut packet = packet(frame, 1514);
        packet.flow = flows[flow];
        packet.set_ecn(ecn);
        frame += 1;
        fq.enqueue(packet, now_ns, books);
        flow
    };
    // Two flows keep 100 packets queued, at one packet per ms; the third sends one per 20 ms.
    for _ in 0..100 {
        send(&mut fq, 0, Ecn::Capable, 0, &mut books);
        send(&mut fq, 1, Ecn::NotCapable, 0, &mut books);
    }
    let mut of_third = Vec::new();
    for step in 0..1_000 {
        now_ns += MS;
        if step % 20 == 19 {
            of_third.push(now_ns);
            send(&mut fq, 2, Ecn::NotCapable, now_ns, &mut books);
        }
        let Some(packet) = fq.dequeue(now_ns, &mut books) else {
            break;
        };
        let flow = flows
            .iter()
            .position(|&flow| flow == packet.flow)
            .expect("ours");
        if flow == 2 {
            assert_eq!(of_third.pop(), Some(now_ns), "never behind the others");
        } else {
            let ecn = [Ecn::Capable, Ecn::NotCapable][flow];
            send(&mut fq, flow, ecn, now_ns, &mut books);
        }
        drop(packet.into_frame());
    }
    assert!(
        books.marked.len() > 10,
        "the flow that can be marked is marked"
    );
    assert!(books.dropped.len() > 10, "the other loses packets");
    assert!(
        books
            .dropped
            .iter()
            .all(|&(_, reason)| reason == DropReason::WaitedTooLong)
    );
}

#[test]
fn seed_changes_the_queues_of_flows() {
    let with_seed = |seed| {
        FqCodel::new(FqCodelConfig {
            seed,
            ..FqCodelConfig::default()
        })
    };
    let (one, other) = (with_seed(1), with_seed(2));
    // A thousand consecutive numbers hashed into 1,024 queues fill about 63 % of them.
    let mut queues: Vec<u32> = (0..1024).map(|flow| one.queue_of(flow)).collect();
    queues.sort_unstable();
    queues.dedup();
    assert!((600..700).contains(&queues.len()), "{}", queues.len());
    assert!(queues.iter().all(|&queue| queue < 1024));
    let meets = |fq: &FqCodel, flow| fq.queue_of(flow) == fq.queue_of(0);
    let met: Vec<u32> = (1..50_000).filter(|&flow| meets(&one, flow)).collect();
    assert!(met.len() > 20, "some share the queue");
    assert!(met.iter().filter(|&&flow| meets(&other, flow)).count() < 5);
}
