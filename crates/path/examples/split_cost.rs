//! Measures the cost of GSO packets in a queue, for counting instructions:
//! `split_cost plain|uncut|whole|pieces|plain-alone|alone PACKETS`.
//!
//! 16 packets at a time are enqueued, run, and completed in one batch, repeatedly, through a queue
//! with Linux's rule on one thread over a ring that does nothing. `scripts/cost.sh` counts two runs
//! with different PACKETS: the difference is the cost of the packets. Prints the completed packets.
//!
//! `plain`: packets of 1,514 bytes, without late segmentation. `uncut`: the same packets with late
//! segmentation enabled. `whole`: GSO packets of two segments, which the limit admits whole.
//! `pieces`: one GSO packet of 16 segments, each a chunk; PACKETS are chunks. `alone`: the same
//! with a limit that admits one object at a time, so that each chunk is planned and completes
//! alone. `plain-alone`: packets under that limit.

mod device;

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::qdisc::Fifo;
use taut_path::{Frame, LateSegmentation, Packet, Queue, Segmentation};

use LateSegmentation::{Auto, EachSegment, Off};
use device::{Freed, Instant, SLOTS, send_all};

const BATCH: u32 = 16;
const HEADER_BYTES: u16 = 66;
const EACH_BYTES: u16 = 1448;
/// The limit admits the whole ring, and a twelfth of it is longer than two segments.
const FIXED_BYTES: u32 = SLOTS * 1514;

/// Creates a packet of `segments` segments.
fn packet(index: u32, segments: u32) -> Packet {
    let bytes = u32::from(HEADER_BYTES) + segments * u32::from(EACH_BYTES);
    let mut packet = Packet::new(Frame::new(index), bytes);
    if segments > 1 {
        packet.segmentation = Segmentation::new(HEADER_BYTES, EACH_BYTES);
    }
    packet
}

/// Returns the number of completed objects.
fn run<L: Limit>(limit: L, split: LateSegmentation, objects: u32, segments: u32) -> u64 {
    let packets = if split == EachSegment {
        BATCH / segments
    } else {
        BATCH
    };
    let builder = Queue::builder_for(Instant::new());
    let builder = builder.with_qdisc(Fifo::new(SLOTS)).with_limit(limit);
    let mut queue = builder.late_segmentation(split).build(0).expect("valid");
    let (mut freed, mut now_ns) = (Freed::default(), 0);
    for _ in 0..objects / BATCH {
        for index in 0..packets {
            queue.enqueue(packet(index, segments), now_ns, &mut freed);
        }
        send_all(&mut queue, &mut now_ns, &mut freed);
    }
    queue.completer_counters().completed_packets
}

fn completed(variant: &str, objects: u32) -> Option<u64> {
    let (dql, alone) = (Dynamic::default(), Fixed::packets(1));
    Some(match variant {
        "plain" => run(dql, Off, objects, 1),
        "uncut" => run(dql, Auto, objects, 1),
        "whole" => run(Fixed::bytes(FIXED_BYTES), Auto, objects, 2),
        "pieces" => run(dql, EachSegment, objects, BATCH),
        "plain-alone" => run(alone, Off, objects, 1),
        "alone" => run(alone, EachSegment, objects, BATCH),
        _ => return None,
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let completed = match &words[..] {
        [variant, objects] => objects.parse().ok().and_then(|it| completed(variant, it)),
        _ => None,
    };
    match completed {
        Some(completed) => println!("{completed}"),
        None => {
            eprintln!("usage: split_cost plain|uncut|whole|pieces|plain-alone|alone PACKETS");
            std::process::exit(2);
        }
    }
}
