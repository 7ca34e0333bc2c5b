//! A custom limit, discipline and probe, over the mock ring, in virtual time.
//!
//! The limit is the measured rate times a target delay, the discipline is two strict bands behind a
//! token bucket, and the probe counts events. The device completes a packet every 60 us (200
//! Mbit/s), the bucket admits 100 Mbit/s. So the ring holds what it sends in the target delay.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;

use taut_dql::Config;
use taut_path::driver::testing::mock;
use taut_path::limit::{CompletionBatch, Limit};
use taut_path::pool::FramePool;
use taut_path::qdisc::{Backlog, Qdisc};
use taut_path::{DropReason, Event, Packet, PacketSink, Probe, Queue, Stop};

const NS_PER_S: u64 = 1_000_000_000;
const PACKET_BYTES: usize = 1514;
const BAND_PACKETS: usize = 100;
const RATE_BYTES_PER_S: u64 = 12_500_000;
const TARGET_NS: u64 = 2_000_000;
const STEP_NS: u64 = 60_000;

// ANCHOR: limit
/// The measured rate times a delay.
struct RateTimesDelay {
    config: Config,
    bytes_per_ms: f64,
    last_ns: u64,
}

impl Limit for RateTimesDelay {
    fn begin(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    fn limit(&self) -> u32 {
        self.config.limit
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        if batch.now_ns > self.last_ns {
            let seen = f64::from(batch.units) * 1e6 / (batch.now_ns - self.last_ns) as f64;
            self.bytes_per_ms += (seen - self.bytes_per_ms) / 8.0;
            self.last_ns = batch.now_ns;
        }
        let limit = (self.bytes_per_ms * TARGET_NS as f64 / 1e6) as u32;
        self.config.limit = limit.clamp(self.config.min_limit, self.config.max_limit);
        self.config.limit
    }

    fn reset(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
        self.config.limit = self.config.min_limit;
    }

    fn config(&self) -> Config {
        self.config
    }

    fn set_config(&mut self, config: Config) -> Result<(), taut_dql::Error> {
        config.validate()?;
        self.config = config;
        Ok(())
    }
}

// ANCHOR_END: limit
/// Two strict bands behind a token bucket of [`RATE_BYTES_PER_S`].
#[derive(Default)]
struct Shaper {
    bands: [VecDeque<Packet>; 2],
    bytes: u64,
    /// Time at which the bucket has recovered from the last packet, in ns.
    free_ns: u64,
}

impl Shaper {
    fn band_of(packet: &Packet) -> usize {
        usize::from(packet.priority == 0)
    }
}

impl Qdisc for Shaper {
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.bytes += u64::from(packet.wire_bytes());
        self.bands[Self::band_of(&packet)].push_back(packet);
    }

    fn dequeue(&mut self, now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        if now_ns < self.free_ns {
            return None;
        }
        let packet = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        let bytes = u64::from(packet.wire_bytes());
        self.bytes -= bytes;
        // A sender that is late has saved at most one packet's worth of tokens.
        let cost_ns = bytes * NS_PER_S / RATE_BYTES_PER_S;
        self.free_ns = self.free_ns.max(now_ns.saturating_sub(cost_ns)) + cost_ns;
        Some(packet)
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.bytes = 0;
        let bands = self.bands.iter_mut();
        bands.flat_map(|band| band.drain(..)).for_each(gone);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.bands[Self::band_of(packet)].len() < BAND_PACKETS
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.bands.iter().map(|band| band.len() as u64).sum(),
            bytes: self.bytes,
        }
    }

    fn next_ready(&self, now_ns: u64) -> Option<u64> {
        (self.bytes > 0 && now_ns < self.free_ns).then_some(self.free_ns)
    }
}

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
    let limit = RateTimesDelay {
        config: Config {
            limit: 2 * PACKET_BYTES as u32,
            min_limit: 2 * PACKET_BYTES as u32,
            ..Config::default()
        },
        bytes_per_ms: 0.0,
        last_ns: 0,
    };
    let mut queue = Queue::builder(tx, completions)
        .with_limit(limit)
        .with_qdisc(Shaper::default())
        .probe(Counts::default())
        .build(0)?;
    let (mut now_ns, mut made) = (0, 0_u32);
    // ANCHOR: loop
    while now_ns < 2 * NS_PER_S {
        while pool.free_frames() > 0 && queue.backlog().packets < 150 {
            let mut packet = pool.packet(&[0; PACKET_BYTES])?;
            made += 1;
            packet.priority = u8::from(made % 5 == 0);
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
