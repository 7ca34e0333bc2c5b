//! The same traffic through a taut queue.

use serde_json::Value;
use taut_linux::frame_ring::{FrameRing, RawRings};
use taut_linux::sched::monotonic_ns;
use taut_path::{AnyLimit, DropReason, Frame, Packet, PacketSink, Queue, QueueConfig};

use crate::bench::Sender;
use crate::packet::{self, BYTES, Stamp};
use crate::world;
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
    completed: u64,
}

impl<X: Xsk> Limited<X> {
    pub fn open(shape: Shape, limit: &str, config: QueueConfig) -> Result<Self> {
        let rings: X = world::open(shape)?;
        let ring = FrameRing::new(rings, shape.frames, shape.slots, 14..=BYTES);
        let queue = Queue::builder_for(ring)
            .qdisc("pfifo_fast".parse()?)
            .config(config)
            .limit(limit.parse::<AnyLimit>()?)
            .build(monotonic_ns())?;
        let frames = Frames((0..shape.frames).map(Frame::new).collect());
        Ok(Self {
            queue,
            frames,
            enqueued: 0,
            completed: 0,
        })
    }

    /// Enqueues a packet with its number and, if it is urgent, `urgent_ns`. Returns `false` if no
    /// frame is free, or if enough packets wait.
    pub fn enqueue(&mut self, urgent_ns: u64, now_ns: u64) -> bool {
        if urgent_ns == 0 && self.queue.backlog().packets >= BACKLOG_PACKETS {
            return false;
        }
        let Some(rings) = self.queue.device_mut().rings_mut() else {
            return false;
        };
        let Some(frame) = self.frames.0.pop() else {
            return false;
        };
        let number = self.enqueued;
        let stamp = Stamp { number, urgent_ns };
        rings.with_bytes(frame.index(), BYTES, |bytes| packet::write(bytes, stamp));
        let mut packet = Packet::new(frame, BYTES);
        packet.priority = if urgent_ns > 0 { URGENT_PRIORITY } else { 0 };
        self.queue.enqueue(packet, now_ns, &mut self.frames);
        self.enqueued += 1;
        true
    }

    /// Sends and completes. Returns `true` if the queue can send more.
    #[inline]
    fn turn(&mut self, now_ns: u64) -> Result<bool> {
        let _ = self.queue.run(now_ns, &mut self.frames);
        // Read again: `run` includes a system call, in which packets can leave and complete.
        let batch = self.queue.complete(monotonic_ns(), &mut self.frames);
        let batch = batch.map_err(|error| error.to_string())?;
        self.completed += u64::from(batch.counts.packets);
        Ok(batch.schedule)
    }
}

impl<X: Xsk> Sender for Limited<X> {
    #[inline]
    fn flood(&mut self, packets: u64) -> Result<()> {
        let now_ns = monotonic_ns();
        while self.enqueued < packets && self.queue.backlog().packets < BACKLOG_PACKETS {
            let Some(frame) = self.frames.0.pop() else {
                break;
            };
            let packet = Packet::new(frame, BYTES);
            self.queue.enqueue(packet, now_ns, &mut self.frames);
            self.enqueued += 1;
        }
        self.turn(now_ns).map(drop)
    }

    fn pace(&mut self, urgent_ns: u64) -> Result<Option<u64>> {
        let now_ns = monotonic_ns();
        let ahead = u64::from(self.queue.in_flight());
        let is_accepted = urgent_ns > 0 && self.enqueue(urgent_ns, now_ns);
        while self.enqueue(0, now_ns) {}
        if self.turn(now_ns)? {
            let _ = self.queue.run(monotonic_ns(), &mut self.frames);
        }
        Ok(is_accepted.then_some(ahead))
    }

    fn completed(&self) -> u64 {
        self.completed
    }

    fn describe(&self, row: &mut Value) {
        let status = self.queue.device().completion_status();
        row["completions"] = status.name().into();
        row["limit_bytes"] = self.queue.snapshot().limit.into();
    }
}
