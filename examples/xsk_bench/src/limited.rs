//! The same traffic through a taut queue.

use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};
use taut_linux::frame_ring::{FrameRing, RawRings};
use taut_linux::sched::{self, monotonic_ns};
use taut_path::{AnyLimit, DropReason, Frame, Packet, PacketSink, Queue, QueueConfig};

use crate::options::Options;
use crate::packet::{self, BYTES, Stamp, URGENT_INTERVAL_NS};
use crate::receiver::Receiver;
use crate::report::{flood_row, rate_row};
use crate::world::{self, World};
use crate::xsk::{Result, Shape, Xsk};

/// `TC_PRIO_INTERACTIVE`, the first band of `pfifo_fast`.
const URGENT_PRIORITY: u8 = 6;
/// Packets that wait above the ring. The urgent one is served first.
const BACKLOG_PACKETS: u64 = 64;

/// The free frames.
pub struct Frames(pub Vec<Frame>);

impl PacketSink for Frames {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.0.push(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.0.push(packet.into_frame());
    }
}

/// A queue in front of a socket.
pub struct Limited<X: RawRings> {
    pub queue: Queue<FrameRing<X>>,
    pub frames: Frames,
    pub enqueued: u64,
}

impl<X: Xsk> Limited<X> {
    pub fn open(shape: Shape, limit: &str, stall_threshold_ns: u64) -> Result<Self> {
        let rings: X = world::open(shape)?;
        let ring = FrameRing::new(rings, shape.frames, shape.slots, 14..=BYTES);
        let queue = Queue::builder_for(ring)
            .qdisc("pfifo_fast".parse()?)
            .config(QueueConfig {
                stall_threshold_ns,
                ..QueueConfig::default()
            })
            .limit(limit.parse::<AnyLimit>()?)
            .build(monotonic_ns())?;
        let frames = Frames((0..shape.frames).map(Frame::new).collect());
        Ok(Self {
            queue,
            frames,
            enqueued: 0,
        })
    }

    /// Enqueues up to `packets` while fewer than [`BACKLOG_PACKETS`] wait.
    #[inline]
    fn fill(&mut self, packets: u64, now_ns: u64) {
        while self.enqueued < packets && self.queue.backlog().packets < BACKLOG_PACKETS {
            let Some(frame) = self.frames.0.pop() else {
                break;
            };
            self.queue
                .enqueue(Packet::new(frame, BYTES), now_ns, &mut self.frames);
            self.enqueued += 1;
        }
    }

    /// Enqueues a packet with its number and, if it is urgent, the time. Returns `false` if no
    /// frame is free, or if enough packets wait.
    pub fn enqueue(&mut self, is_urgent: bool, now_ns: u64) -> bool {
        if !is_urgent && self.queue.backlog().packets >= BACKLOG_PACKETS {
            return false;
        }
        let Some(rings) = self.queue.device_mut().rings_mut() else {
            return false;
        };
        let Some(frame) = self.frames.0.pop() else {
            return false;
        };
        let urgent_ns = if is_urgent { now_ns } else { 0 };
        let stamp = Stamp {
            number: self.enqueued,
            urgent_ns,
        };
        rings.with_bytes(frame.index(), BYTES, |bytes| packet::write(bytes, stamp));
        let mut packet = Packet::new(frame, BYTES);
        packet.priority = if is_urgent { URGENT_PRIORITY } else { 0 };
        self.queue.enqueue(packet, now_ns, &mut self.frames);
        self.enqueued += 1;
        true
    }
}

pub fn run<X: Xsk>(world: &World, options: &Options) -> Result<Map<String, Value>> {
    let stall_threshold_ns = QueueConfig::default().stall_threshold_ns;
    let mut limited = Limited::<X>::open(options.shape(), &options.limit, stall_threshold_ns)?;
    let mut row = match options.rate {
        None => flood(&mut limited, options.packets)?,
        Some(_) => paced(&mut limited, world, options)?,
    };
    let status = limited.queue.device().completion_status();
    row.insert("completions".to_owned(), status.name().into());
    Ok(row)
}

fn flood<X: Xsk>(limited: &mut Limited<X>, packets: u64) -> Result<Map<String, Value>> {
    let start_ns = monotonic_ns();
    let mut completed = 0;
    while completed < packets {
        let now_ns = monotonic_ns();
        limited.fill(packets, now_ns);
        let _ = limited.queue.run(now_ns, &mut limited.frames);
        let batch = limited.queue.complete(now_ns, &mut limited.frames);
        let batch = batch.map_err(|error| error.to_string())?;
        completed += u64::from(batch.counts.packets);
    }
    Ok(flood_row(packets, monotonic_ns() - start_ns))
}

fn paced<X: Xsk>(
    limited: &mut Limited<X>,
    world: &World,
    options: &Options,
) -> Result<Map<String, Value>> {
    sched::precise_timers()?;
    let receiver = Receiver::start(world)?;
    let start_ns = monotonic_ns();
    let mut urgent_due_ns = start_ns + URGENT_INTERVAL_NS;
    let mut ahead = Vec::new();
    while monotonic_ns() < start_ns + options.seconds * 1_000_000_000 {
        let now_ns = monotonic_ns();
        if now_ns >= urgent_due_ns && limited.enqueue(true, now_ns) {
            ahead.push(u64::from(limited.queue.in_flight()));
            urgent_due_ns = now_ns + URGENT_INTERVAL_NS;
        }
        while limited.enqueue(false, now_ns) {}
        let _ = limited.queue.run(now_ns, &mut limited.frames);
        let batch = limited.queue.complete(now_ns, &mut limited.frames);
        if batch.map_err(|error| error.to_string())?.schedule {
            let _ = limited.queue.run(now_ns, &mut limited.frames);
        }
        thread::sleep(Duration::from_micros(50));
    }
    let mut row = rate_row(&receiver.arrivals(), monotonic_ns() - start_ns, &ahead);
    row.insert(
        "limit_bytes".to_owned(),
        limited.queue.snapshot().limit.into(),
    );
    Ok(row)
}
