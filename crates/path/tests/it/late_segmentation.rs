//! GSO packets in chunks: the order of chunks, other packets between them, decisions and counters.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Books, FakeRing, packet};
use taut_path::limit::AnyLimit;
use taut_path::qdisc::{Backlog, Fifo, RequeueSupport};
use taut_path::{
    AnyQdisc, DropReason, LateSegmentation, Packet, PacketSink, Qdisc, Queue, QueueConfig,
    Segmentation, Stop,
};

const HEADER_BYTES: u32 = 54;
const EACH_BYTES: u32 = 1_000;

/// A GSO packet of `segments` segments, the last of which has half the length.
fn long(frame: u32, segments: u32) -> Packet {
    let mut packet = packet(frame, HEADER_BYTES + segments * EACH_BYTES - EACH_BYTES / 2);
    packet.segmentation = Segmentation::new(HEADER_BYTES as u16, EACH_BYTES as u16);
    packet
}

fn queue(discipline: &str, limit: AnyLimit, split: LateSegmentation) -> Queue<FakeRing> {
    queue_of(discipline.parse().expect("it is well formed"), limit, split)
}

fn queue_of(discipline: AnyQdisc, limit: AnyLimit, split: LateSegmentation) -> Queue<FakeRing> {
    let config = QueueConfig {
        late_segmentation: split,
        ..QueueConfig::default()
    };
    Queue::builder_for(FakeRing::new(64))
        .qdisc(discipline)
        .limit(limit)
        .config(config)
        .build(0)
        .expect("valid settings")
}

/// The objects in the device: frame, first segment, bytes, and whether it is the last chunk.
fn sent(queue: &Queue<FakeRing>) -> Vec<(u32, u32, u32, bool)> {
    let in_device = queue.device().in_device.iter();
    in_device
        .map(|packet| {
            let chunk = packet.chunk();
            (
                packet.frame().index(),
                chunk.map_or(0, |chunk| chunk.first_segment),
                packet.wire_bytes(),
                chunk.is_none_or(|chunk| chunk.is_last),
            )
        })
        .collect()
}

/// The device sends one object, and the queue continues.
fn complete_one(queue: &mut Queue<FakeRing>, books: &mut Books, now_ns: u64) {
    queue.device_mut().finish(1);
    let completed = queue.complete(now_ns, books).expect("it works");
    assert_eq!(completed.counts.packets, 1);
    let _ = queue.run(now_ns, books);
}

#[test]
fn frame_returns_after_the_last_segment() {
    let (mut queue, mut books) = (
        queue("pfifo", AnyLimit::off(), LateSegmentation::EachSegment),
        Books::default(),
    );
    queue.enqueue(long(7, 3), 0, &mut books);
    assert_eq!(queue.run(0, &mut books), Stop::Idle);
    let expected = [
        (7, 0, 1_054, false),
        (7, 1, 1_054, false),
        (7, 2, 554, true),
    ];
    assert_eq!(sent(&queue), expected);
    assert_eq!(queue.device().bursts, [3], "behind one doorbell");
    for done in 1..=3 {
        assert!(books.freed.is_empty());
        queue.device_mut().finish(1);
        let completed = queue.complete(done, &mut books).expect("it works");
        assert_eq!(completed.counts.packets, 1, "a chunk is an object");
    }
    assert_eq!((books.freed, books.freed_bytes), (vec![7], 2_554));
    let counters = queue.sender_counters();
    assert_eq!((counters.segmented_packets, counters.chunks), (1, 3));
}

#[test]
fn backlog_contains_the_remainder_with_headers() {
    let mut queue = queue("pfifo", AnyLimit::packets(1), LateSegmentation::EachSegment);
    let mut books = Books::default();
    queue.enqueue(long(0, 4), 0, &mut books);
    queue.enqueue(packet(1, 60), 0, &mut books);
    assert_eq!(queue.run(0, &mut books), Stop::Limit);
    assert_eq!(sent(&queue), [(0, 0, 1_054, false)]);
    let backlog = queue.backlog();
    assert_eq!((backlog.packets, backlog.bytes), (2, 2_554 + 60));
    for now_ns in 1..=5 {
        complete_one(&mut queue, &mut books, now_ns);
    }
    assert_eq!(
        books.freed,
        [0, 1],
        "in order: no packet is of a higher class"
    );
}

#[test]
fn higher_class_overtakes_a_remainder() {
    let mut queue = queue(
        "pfifo_fast",
        AnyLimit::packets(1),
        LateSegmentation::EachSegment,
    );
    let mut books = Books::default();
    queue.enqueue(long(0, 3), 0, &mut books);
    queue.enqueue(packet(1, 60), 0, &mut books);
    let _ = queue.run(0, &mut books);
    let mut urgent = packet(2, 70);
    urgent.priority = 6;
    queue.enqueue(urgent, 1, &mut books);
    let mut order = sent(&queue);
    for now_ns in 1..=4 {
        complete_one(&mut queue, &mut books, now_ns);
        order.extend(sent(&queue));
    }
    let frames: Vec<_> = order
        .iter()
        .map(|&(frame, first, ..)| (frame, first))
        .collect();
    assert_eq!(frames, [(0, 0), (2, 0), (0, 1), (0, 2), (1, 0)]);
}

#[test]
fn fq_codel_alternates_flows_between_chunks() {
    let discipline = "fq_codel quantum 1514";
    let mut queue = queue(
        discipline,
        AnyLimit::packets(1),
        LateSegmentation::EachSegment,
    );
    let mut books = Books::default();
    for flow in 0..2 {
        let mut packet = long(flow, 6);
        packet.flow = flow;
        queue.enqueue(packet, 0, &mut books);
    }
    let _ = queue.run(0, &mut books);
    let mut order = sent(&queue);
    for now_ns in 1..=12 {
        complete_one(&mut queue, &mut books, now_ns);
        order.extend(sent(&queue));
    }
    let frames: Vec<_> = order.iter().map(|&(frame, ..)| frame).collect();
    // 1,054 bytes each, and 1,514 per turn: two, then one or two.
    assert_eq!(frames, [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1]);
    books.freed.sort_unstable();
    assert_eq!(books.freed, [0, 1]);
}

#[test]
fn codel_decides_before_the_first_chunk_only() {
    for discipline in [
        "codel target 1ms interval 10ms",
        "fq_codel target 1ms interval 10ms",
    ] {
        let mut queue = queue(
            discipline,
            AnyLimit::packets(1),
            LateSegmentation::EachSegment,
        );
        let mut books = Books::default();
        for frame in 0..3 {
            queue.enqueue(long(frame, 40), 0, &mut books);
        }
        // Two milliseconds per chunk: with another decision, the remainder would be dropped after
        // 10 ms.
        let _ = queue.run(0, &mut books);
        let mut now_ns = 0;
        let mut chunks = 1;
        while books.freed.is_empty() && books.dropped.is_empty() {
            now_ns += 2_000_000;
            complete_one(&mut queue, &mut books, now_ns);
            chunks += 1;
        }
        assert_eq!((&books.freed[..], chunks), (&[0][..], 41), "{discipline}");
        assert!(books.dropped.is_empty(), "{discipline}");
        // The second waited for 80 ms, which starts the interval. The third is dropped for it.
        for _ in 0..40 {
            now_ns += 2_000_000;
            complete_one(&mut queue, &mut books, now_ns);
        }
        assert_eq!(books.freed, [0, 1], "{discipline}");
    }
}

#[test]
fn dropped_remainder_waits_for_its_chunks() {
    let mut queue = queue("pfifo", AnyLimit::packets(1), LateSegmentation::EachSegment);
    let mut books = Books::default();
    queue.enqueue(long(3, 5), 0, &mut books);
    let _ = queue.run(0, &mut books);
    queue.flush(1, &mut books);
    let counters = queue.sender_counters();
    assert_eq!((counters.drops.total(), counters.dropped_segments), (1, 4));
    assert_eq!(queue.backlog().bytes, 0);
    assert!(books.dropped.is_empty(), "a chunk is in the device");
    complete_one(&mut queue, &mut books, 2);
    assert_eq!(books.dropped, [(3, DropReason::Flushed)]);
    assert!(books.freed.is_empty());
}

#[test]
fn overflow_can_drop_a_remainder() {
    let discipline = "fq_codel limit 2 flows 1";
    let mut queue = queue(
        discipline,
        AnyLimit::packets(1),
        LateSegmentation::EachSegment,
    );
    let mut books = Books::default();
    queue.enqueue(long(0, 5), 0, &mut books);
    let _ = queue.run(0, &mut books);
    for frame in 1..=2 {
        queue.enqueue(packet(frame, 60), 0, &mut books);
    }
    let counters = queue.sender_counters();
    assert_eq!((counters.drops.total(), counters.dropped_segments), (1, 4));
    complete_one(&mut queue, &mut books, 2);
    assert_eq!(books.dropped, [(0, DropReason::QueueFull)]);
}

#[test]
fn rejected_chunk_drops_the_remainder() {
    let (mut queue, mut books) = (
        queue("pfifo", AnyLimit::off(), LateSegmentation::EachSegment),
        Books::default(),
    );
    queue.device_mut().longest_bytes = 1_000;
    queue.enqueue(long(0, 5), 0, &mut books);
    assert_eq!(queue.run(0, &mut books), Stop::Idle);
    assert_eq!(books.dropped, [(0, DropReason::DeviceRefused)]);
    let counters = queue.sender_counters();
    assert_eq!((counters.drops.total(), counters.dropped_segments), (1, 5));
    assert_eq!((queue.in_flight(), counters.sent_packets), (0, 0));
}

#[test]
fn packets_are_sent_whole_when_segmentation_is_impossible() {
    let mut off = queue("pfifo", AnyLimit::off(), LateSegmentation::Off);
    let mut books = Books::default();
    off.enqueue(long(0, 5), 0, &mut books);
    let _ = off.run(0, &mut books);
    assert_eq!(sent(&off), [(0, 0, 4_554, true)]);

    let mut all = queue("pfifo", AnyLimit::off(), LateSegmentation::EachSegment);
    all.enqueue(long(0, 1), 0, &mut books);
    let _ = all.run(0, &mut books);
    assert_eq!(sent(&all), [(0, 0, 554, true)]);
    assert!(all.device().in_device[0].chunk().is_none());
}

#[test]
fn packets_above_the_segmentation_maximum_are_sent_whole() {
    let limit: AnyLimit = AnyLimit::packets(10_000);
    let config = QueueConfig {
        late_segmentation: LateSegmentation::EachSegment,
        ..QueueConfig::default()
    };
    let mut queue = Queue::builder_for(FakeRing::new(10_000))
        .qdisc("pfifo limit 1000".parse().expect("well formed"))
        .limit(limit)
        .config(config)
        .build(0)
        .expect("valid");
    let mut books = Books::default();
    for frame in 0..600 {
        queue.enqueue(long(frame, 2), 0, &mut books);
    }
    let _ = queue.run(0, &mut books);
    let counters = queue.sender_counters();
    assert_eq!(
        (counters.segmented_packets, counters.sent_packets),
        (511, 511 + 600)
    );
    queue.device_mut().finish(usize::MAX);
    queue.complete(1, &mut books).expect("works");
    assert_eq!(books.freed, (0..600).collect::<Vec<_>>());
    // Each place is free again.
    for frame in 0..511 {
        queue.enqueue(long(frame, 2), 0, &mut books);
    }
    let _ = queue.run(2, &mut books);
    assert_eq!(queue.sender_counters().segmented_packets, 2 * 511);
}

#[test]
fn stale_chunks_still_end_their_frame() {
    let mut queue = queue("pfifo", AnyLimit::packets(1), LateSegmentation::EachSegment);
    let mut books = Books::default();
    queue.enqueue(long(0, 3), 0, &mut books);
    let _ = queue.run(0, &mut books);
    queue.reset(1);
    let _ = queue.run(1, &mut books);
    queue.device_mut().finish(usize::MAX);
    let completed = queue.complete(2, &mut books).expect("works");
    assert_eq!((completed.stale_packets, completed.counts.packets), (1, 1));
    let _ = queue.run(2, &mut books);
    complete_one(&mut queue, &mut books, 3);
    assert_eq!(books.freed, [0]);
    assert_eq!(queue.in_flight(), 0);
}

#[test]
fn limit_counts_chunks_with_headers() {
    let limit = "2000".parse().expect("a limit");
    let (mut queue, mut books) = (
        queue("pfifo", limit, LateSegmentation::EachSegment),
        Books::default(),
    );
    queue.enqueue(long(0, 9), 0, &mut books);
    assert_eq!(queue.run(0, &mut books), Stop::Limit);
    assert_eq!(queue.in_flight(), 2 * 1_054);
}

#[test]
fn chunk_length_follows_the_limit() {
    // A twelfth of 2,000 is less than a segment; of 60,000 it is four segments; of 200,000 the
    // whole packet.
    for (limit, split, bytes) in [
        ("2000", LateSegmentation::Auto, 1_054),
        ("60000", LateSegmentation::Auto, 4_054),
        ("60000", LateSegmentation::ChunksPerLimit(6), 8_554),
        ("60000", LateSegmentation::ChunksPerLimit(8), 7_054),
        ("200000", LateSegmentation::Auto, 8_554),
    ] {
        let limit = limit.parse().expect("a limit");
        let (mut queue, mut books) = (queue("pfifo", limit, split), Books::default());
        queue.enqueue(long(0, 9), 0, &mut books);
        let _ = queue.run(0, &mut books);
        assert_eq!(sent(&queue)[0].2, bytes, "{split}");
    }
    let rule = "dql".parse().expect("a limit");
    let (mut queue, mut books) = (
        queue("pfifo", rule, LateSegmentation::Auto),
        Books::default(),
    );
    let mut longest = Vec::new();
    for now_ns in (0..400_000_000).step_by(200_000) {
        while queue.backlog().packets < 10 {
            queue.enqueue(long(0, 60), now_ns, &mut books);
        }
        let _ = queue.run(now_ns, &mut books);
        let bytes = sent(&queue).iter().map(|&(.., bytes, _)| bytes).max();
        longest.push((bytes.unwrap_or(0), queue.snapshot().limit));
        // More than twelve objects per batch: a limit of two batches allows longer ones.
        queue.device_mut().finish(30);
        queue.complete(now_ns, &mut books).expect("it works");
    }
    assert_eq!(longest[0].0, 1_054, "one segment without a rate");
    let (bytes, limit) = longest[longest.len() - 1];
    assert!(bytes > 1_054 && bytes <= limit / 12, "{bytes} of {limit}");
}

#[test]
fn auto_without_byte_limit_sends_whole_packets() {
    for limit in [AnyLimit::off(), AnyLimit::packets(3)] {
        let (mut queue, mut books) = (
            queue("pfifo", limit, LateSegmentation::Auto),
            Books::default(),
        );
        queue.enqueue(long(0, 60), 0, &mut books);
        let _ = queue.run(0, &mut books);
        assert_eq!(sent(&queue), [(0, 0, 59_554, true)]);
    }
    assert_eq!(
        QueueConfig::default().late_segmentation,
        LateSegmentation::Auto
    );
}

#[test]
fn setting_text_round_trips() {
    for text in ["off", "auto", "1/8", "1/1000", "all", "250us", "1ms"] {
        assert_eq!(
            text.parse::<LateSegmentation>()
                .map(|split| split.to_string()),
            Ok(text.into())
        );
    }
    for text in [
        "", "auto ", "0", "100ns", "11s", "3", "1/0", "1/1001", "1/", "2/3",
    ] {
        assert!(text.parse::<LateSegmentation>().is_err(), "{text}");
    }
}

/// A discipline of another crate. Its `requeue` is the default, which rejects.
struct Plain {
    fifo: Fifo,
    requeue_support: RequeueSupport,
}

impl Qdisc for Plain {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.fifo.enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        self.fifo.dequeue(now_ns, sink)
    }

    fn requeue_support(&self) -> RequeueSupport {
        self.requeue_support
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.fifo.drain(on_packet);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.fifo.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

fn plain_queue(requeue_support: RequeueSupport) -> Queue<FakeRing> {
    let fifo = Fifo::new(10);
    let plain = Plain {
        fifo,
        requeue_support,
    };
    queue_of(
        AnyQdisc::new("plain", plain),
        AnyLimit::packets(1),
        LateSegmentation::EachSegment,
    )
}

#[test]
fn discipline_without_requeue_sends_gso_packets_whole() {
    let (mut queue, mut books) = (plain_queue(RequeueSupport::None), Books::default());
    queue.enqueue(long(7, 3), 0, &mut books);
    let _ = queue.run(0, &mut books);
    assert_eq!(sent(&queue), [(7, 0, 2_554, true)]);
    complete_one(&mut queue, &mut books, 1);
    assert_eq!((books.freed, books.freed_bytes), (vec![7], 2_554));
}

#[test]
fn rejected_remainder_ends_its_frame_once() {
    let (mut queue, mut books) = (plain_queue(RequeueSupport::InTurn), Books::default());
    queue.enqueue(long(7, 3), 0, &mut books);
    let _ = queue.run(0, &mut books);
    assert_eq!(sent(&queue), [(7, 0, 1_054, false)]);
    assert_eq!(queue.sender_counters().dropped_segments, 2);
    complete_one(&mut queue, &mut books, 1);
    let ended = (
        books.freed.len() + books.dropped.len(),
        queue.backlog().packets,
    );
    assert_eq!(ended, (1, 0));
}

/// The remainder of its packet is lost, and the next ones pass as before.
#[test]
fn reset_recovers_from_a_panic_with_a_chunk() {
    for chunk in 0..3 {
        let limit = "4p".parse().expect("a limit");
        let mut queue = queue("pfifo", limit, LateSegmentation::EachSegment);
        let mut books = Books::default();
        for frame in 0..3 {
            queue.enqueue(long(frame, 3), 0, &mut books);
        }
        queue.device_mut().panics_after = Some(chunk);
        let run = catch_unwind(AssertUnwindSafe(|| queue.run(0, &mut books)));
        assert!(run.is_err());
        queue.reset(1);
        for now_ns in 2..10 {
            let _ = queue.run(now_ns, &mut books);
            queue.device_mut().finish(usize::MAX);
            let completed = queue.complete(now_ns, &mut books);
            completed.expect("the device is reaped");
        }
        assert_eq!(books.freed.iter().filter(|&&frame| frame > 0).count(), 2);
        assert_eq!((queue.in_flight(), queue.backlog().packets), (0, 0));
        assert_eq!(queue.completer_counters().completed_packets, 6);
    }
}
