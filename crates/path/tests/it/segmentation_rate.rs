//! The length of chunks follows the rate of the device.

use taut_path::{AnyLimit, Frame, LateSegmentation, Packet, Queue, QueueConfig, Segmentation};

use crate::support::FreedOnly;
use crate::support::wire::Wire;

const HEADER_BYTES: u32 = 54;
const EACH_BYTES: u32 = 1_446;
const CHUNK_NS: u64 = 250_000;
/// Interval of the device's interrupts, in ns.
const ROUND_NS: u64 = 200_000;

struct Saturated {
    queue: Queue<Wire>,
    now_ns: u64,
    /// Maximum bytes in flight in the last quarter of a run.
    max_bytes: u32,
}

impl Saturated {
    fn new(limit: &str, split: LateSegmentation, bytes_per_s: u64) -> Self {
        let wire = Wire::new(bytes_per_s, 256);
        let config = QueueConfig {
            late_segmentation: split,
            ..QueueConfig::default()
        };
        let limit: AnyLimit = limit.parse().expect("a limit");
        let queue = Queue::builder_for(wire)
            .limit(limit)
            .config(config)
            .build(0);
        Self {
            queue: queue.expect("valid"),
            now_ns: 0,
            max_bytes: 0,
        }
    }

    /// Runs with unlimited GSO packets. Returns the longest object of the last quarter, and the
    /// utilisation in it, in per cent.
    fn run(&mut self, length_ns: u64) -> (u32, u64) {
        let (start_ns, mut began) = (self.now_ns, None);
        while self.now_ns < start_ns + length_ns {
            while self.queue.backlog().packets < 60 {
                let mut packet = Packet::new(Frame::new(0), HEADER_BYTES + 40 * EACH_BYTES);
                packet.segmentation = Segmentation::new(HEADER_BYTES as u16, EACH_BYTES as u16);
                self.queue.enqueue(packet, self.now_ns, &mut FreedOnly);
            }
            let _ = self.queue.run(self.now_ns, &mut FreedOnly);
            self.max_bytes = self.max_bytes.max(self.queue.in_flight());
            self.now_ns += ROUND_NS;
            let batch = self.queue.complete(self.now_ns, &mut FreedOnly);
            assert!(batch.is_ok());
            if began.is_none() && self.now_ns > start_ns + length_ns / 4 * 3 {
                self.queue.device_mut().longest_bytes = 0;
                self.max_bytes = 0;
                began = Some((self.now_ns, self.queue.device().busy_ns));
            }
        }
        let (began_ns, was_busy_ns) = began.expect("it is long");
        let device = self.queue.device();
        let busy_ns = device.busy_ns - was_busy_ns;
        (
            device.longest_bytes,
            busy_ns * 100 / (self.now_ns - began_ns),
        )
    }
}

/// The expected chunk at a rate: whole segments, at least one.
fn expected_bytes(bytes_per_s: u64) -> u32 {
    let bytes = (bytes_per_s * CHUNK_NS / 1_000_000_000) as u32;
    let segments = bytes.saturating_sub(HEADER_BYTES) / EACH_BYTES;
    (HEADER_BYTES + segments.clamp(1, 40) * EACH_BYTES).min(HEADER_BYTES + 40 * EACH_BYTES)
}

const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn chunk_length_follows_the_link_rate() {
    for limit in ["dql", "taut", "taut:5ms", "64k", "40p", "off"] {
        let mut run = Saturated::new(limit, LateSegmentation::Time(CHUNK_NS), 12_500_000);
        for rate in [
            12_500_000,
            1_250_000,
            12_500_000,
            125_000_000,
            1_250_000_000,
        ] {
            run.queue.device_mut().bytes_per_s = rate;
            let (longest_bytes, busy_percent) = run.run(4 * SECOND_NS);
            let expected = expected_bytes(rate);
            let near = expected / 4 * 3..=expected / 4 * 5;
            assert!(
                near.contains(&longest_bytes),
                "{limit} at {rate}: {longest_bytes}"
            );
            if limit != "64k" && limit != "40p" {
                assert!(busy_percent >= 97, "{limit} at {rate}: {busy_percent} %");
            }
        }
    }
}

/// The cap counts chunks, so it is exceeded by at most one chunk.
#[test]
fn time_cap_bounds_chunks_at_any_rate() {
    for rule in ["dql", "taut"] {
        for split in [
            LateSegmentation::EachSegment,
            LateSegmentation::Auto,
            LateSegmentation::Time(CHUNK_NS),
        ] {
            let mut run = Saturated::new(&format!("{rule}:2ms"), split, 12_500_000);
            for rate in [12_500_000, 1_250_000, 12_500_000, 125_000_000] {
                run.queue.device_mut().bytes_per_s = rate;
                let (longest_bytes, busy_percent) = run.run(4 * SECOND_NS);
                let cap_bytes = (rate / 500) as u32;
                let max_bytes = cap_bytes / 4 * 5 + longest_bytes;
                let what = format!("{rule}, {split}, at {rate}");
                assert!(
                    run.max_bytes <= max_bytes,
                    "{what}: {} in flight",
                    run.max_bytes
                );
                assert!(
                    longest_bytes <= cap_bytes.max(1_500),
                    "{what}: {longest_bytes}"
                );
                assert!(busy_percent >= 97, "{what}: {busy_percent} %");
            }
        }
    }
}

#[test]
fn chunk_is_one_segment_without_a_rate() {
    let mut run = Saturated::new("dql", LateSegmentation::Time(CHUNK_NS), 1_250_000_000);
    let mut packet = Packet::new(Frame::new(0), HEADER_BYTES + 40 * EACH_BYTES);
    packet.segmentation = Segmentation::new(HEADER_BYTES as u16, EACH_BYTES as u16);
    run.queue.enqueue(packet, 0, &mut FreedOnly);
    let _ = run.queue.run(0, &mut FreedOnly);
    let longest_bytes = run.queue.device().longest_bytes;
    assert_eq!(longest_bytes, HEADER_BYTES + EACH_BYTES);
}
