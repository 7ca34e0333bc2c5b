//! A custom limit and probe, over the mock ring, in virtual time.
//!
//! The limit is the measured rate times a target delay, the discipline has three strict bands
//! behind a token bucket, and the probe counts events. The device completes a packet every 60 us
//! (200 Mbit/s), the bucket admits 100 Mbit/s. So the ring holds what it sends in the target delay.

use std::collections::BTreeMap;
use std::error::Error;

use taut_path::driver::testing::mock;
use taut_path::limit::{CompletionBatch, Limit};
use taut_path::pool::FramePool;
use taut_path::qdisc::{BandLimit, PfifoFast, Shaped};
use taut_path::{Event, PacketSink, Probe, Queue, Stop};

const NS_PER_S: u64 = 1_000_000_000;
const PACKET_BYTES: usize = 1514;
const BAND_PACKETS: u32 = 100;
const RATE_BITS_PER_S: u64 = 100_000_000;
/// The bucket holds a packet.
const BURST_NS: u64 = PACKET_BYTES as u64 * 8 * NS_PER_S / RATE_BITS_PER_S;
const TARGET_NS: u64 = 2_000_000;
const STEP_NS: u64 = 60_000;

// ANCHOR: limit
/// The measured rate times a delay, at least two packets.
#[derive(Default)]
struct RateTimesDelay {
    bytes_per_ms: f64,
    last_ns: u64,
}

impl Limit for RateTimesDelay {
    fn limit(&self) -> u32 {
        let limit = (self.bytes_per_ms * TARGET_NS as f64 / 1e6) as u32;
        limit.max(2 * PACKET_BYTES as u32)
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        if batch.now_ns > self.last_ns {
            let seen = f64::from(batch.units) * 1e6 / (batch.now_ns - self.last_ns) as f64;
            self.bytes_per_ms += (seen - self.bytes_per_ms) / 8.0;
            self.last_ns = batch.now_ns;
        }
        self.limit()
    }

    fn reset(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
        self.bytes_per_ms = 0.0;
    }
}
// ANCHOR_END: limit

#[derive(Default)]
struct Counts(BTreeMap<&'static str, u64>);

impl Probe for Counts {
    fn event(&mut self, _now_ns: u64, event: Event<'_>) {
        let name = match event {
            Event::Sent(_) => "sent",
            Event::Dropped(..) => "dropped",
            Event::Completed(_) => "completed",
            Event::Stopped(_) => "stopped",
            Event::Stalled(_) => "stalled",
            _ => return,
        };
        *self.0.entry(name).or_default() += 1;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (tx, completions, device) = mock::ring(64);
    let mut pool = FramePool::new(400, PACKET_BYTES as u32);
    let bands = PfifoFast::new(BAND_PACKETS, BandLimit::Each);
    let mut queue = Queue::builder(tx, completions)
        .with_limit(RateTimesDelay::default())
        .with_qdisc(Shaped::new(bands, RATE_BITS_PER_S, BURST_NS))
        .probe(Counts::default())
        .build(0)?;
    let (mut now_ns, mut made) = (0, 0_u32);
    // ANCHOR: loop
    while now_ns < 2 * NS_PER_S {
        while pool.free_frames() > 0 && queue.backlog().packets < 150 {
            let mut packet = pool.packet(&[0; PACKET_BYTES])?;
            made += 1;
            packet.priority = if made % 5 == 0 { 6 } else { 0 };
            queue.enqueue(packet, now_ns, &mut pool);
        }
        let mut next_ns = now_ns + STEP_NS;
        match queue.run(now_ns, &mut pool) {
            Stop::NotReady(at_ns) => next_ns = next_ns.min(at_ns),
            Stop::Failed(error) => return Err(error.into()),
            _ => {}
        }
        now_ns = next_ns;
        device.complete(1);
        assert_eq!(queue.complete(now_ns, &mut pool)?.stalled, None);
    }
    // ANCHOR_END: loop
    let bits = queue.completer_counters().completed_bytes * 8;
    let limit_bytes = queue.snapshot().limit;
    println!("{} Mbit/s, limit {limit_bytes} bytes", bits / 2_000_000);
    assert!(
        (95..=101).contains(&(bits / 2_000_000)),
        "the bucket's rate"
    );
    // Every packet ends: those queued, and those in the device when the queue is closed.
    let (_, counts) = queue.close(now_ns, &mut pool);
    for packet in device.flush() {
        pool.freed(packet);
    }
    println!(
        "{:?}, {} of {} frames free",
        counts.0,
        pool.free_frames(),
        pool.frames()
    );
    assert_eq!(pool.free_frames(), pool.frames());
    Ok(())
}
