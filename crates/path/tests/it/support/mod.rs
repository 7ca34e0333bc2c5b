//! A fake device and a sink that accounts for every frame, for the tests of the path.

pub mod decimal;
pub mod names;
pub mod rule;
pub mod wire;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Wake;

use taut_path::driver::{ChunkSupport, InRing};
use taut_path::limit::Limit;
use taut_path::qdisc::Fifo;
use taut_path::queue::CompleteError;
use taut_path::{
    Completed, Completions, DropReason, Ecn, Frame, Packet, PacketSink, Probe, Queue, QueueConfig,
    Stop, TxRing,
};

/// A waker that counts.
#[derive(Default)]
pub struct Wakes(AtomicU64);

impl Wakes {
    /// Returns the wake-ups since the last call.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The error of a failing doorbell or reap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// A ring whose device completes packets when the test calls `finish`.
#[derive(Debug)]
pub struct FakeRing {
    pub slots: u32,
    pub slots_per_packet: u32,
    /// Submitted, before the doorbell.
    pub submitted: VecDeque<Packet>,
    /// Behind a doorbell and not completed.
    pub in_device: VecDeque<Packet>,
    pub finished: VecDeque<Packet>,
    /// Packets behind each successful doorbell.
    pub bursts: Vec<usize>,
    /// Doorbells that will fail.
    pub failing_kicks: u32,
    /// Doorbells that failed.
    pub failed_kicks: u32,
    /// Reaps that will return the completed packets and then fail.
    pub failing_reaps: u32,
    /// Packets that the device will reject.
    pub rejecting: u32,
    /// Slots of packets that never complete.
    pub slots_lost: u32,
    /// Every reap reports pending completions.
    pub says_more: bool,
    /// Longer packets are rejected.
    pub longest_bytes: u32,
    /// `submit` panics after this many packets, once.
    pub panics_after: Option<u32>,
    /// The device completes packets before `kick` returns.
    pub instant: bool,
    /// Maximum number of slots in use so far.
    pub most_used: u32,
}

impl FakeRing {
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            slots_per_packet: 1,
            submitted: VecDeque::new(),
            in_device: VecDeque::new(),
            finished: VecDeque::new(),
            bursts: Vec::new(),
            failing_kicks: 0,
            failed_kicks: 0,
            failing_reaps: 0,
            rejecting: 0,
            slots_lost: 0,
            says_more: false,
            longest_bytes: u32::MAX,
            panics_after: None,
            instant: false,
            most_used: 0,
        }
    }

    pub fn packets(&self) -> usize {
        self.submitted.len() + self.in_device.len() + self.finished.len()
    }

    fn free(&self) -> u32 {
        let used = self.packets() as u32 * self.slots_per_packet;
        self.slots.saturating_sub(used + self.slots_lost)
    }

    /// Completes up to `count` packets of the device, oldest first.
    pub fn finish(&mut self, count: usize) {
        let count = count.min(self.in_device.len());
        self.finished.extend(self.in_device.drain(..count));
    }
}

impl TxRing for FakeRing {
    type Error = Broken;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.slots_per_packet
    }

    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        assert!(
            self.free() >= self.slots_per_packet,
            "submitted to a full ring"
        );
        if packet.wire_bytes() > self.longest_bytes || self.rejecting > 0 {
            self.rejecting = self.rejecting.saturating_sub(1);
            return Err(packet);
        }
        if let Some(after) = self.panics_after {
            self.panics_after = after.checked_sub(1);
            assert_ne!(after, 0, "the driver panics");
        }
        self.submitted.push_back(packet);
        self.most_used = self.most_used.max(self.slots - self.free());
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Broken> {
        if self.failing_kicks > 0 {
            self.failing_kicks -= 1;
            self.failed_kicks += 1;
            return Err(Broken);
        }
        self.bursts.push(self.submitted.len());
        self.in_device.append(&mut self.submitted);
        if self.instant {
            self.finish(usize::MAX);
        }
        Ok(())
    }
}

impl Completions for FakeRing {
    type Error = Broken;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Broken> {
        for _ in 0..budget_packets {
            match self.finished.pop_front() {
                Some(packet) => freed(packet),
                None => break,
            }
        }
        if self.failing_reaps > 0 {
            self.failing_reaps -= 1;
            return Err(Broken);
        }
        Ok(self.says_more || !self.finished.is_empty())
    }

    fn in_ring(&self) -> Option<InRing> {
        let lists = [&self.submitted, &self.in_device, &self.finished];
        let packets = || lists.iter().flat_map(|list| list.iter());
        Some(InRing {
            packets: packets().count() as u32,
            bytes: packets().map(Packet::wire_bytes).sum(),
        })
    }
}

/// The same ring for both halves of a queue, on one or two threads.
#[derive(Debug, Clone)]
pub struct SharedRing(Arc<Mutex<FakeRing>>);

impl SharedRing {
    pub fn new(slots: u32) -> Self {
        Self(Arc::new(Mutex::new(FakeRing::new(slots))))
    }

    /// Locks the ring.
    pub fn get(&self) -> MutexGuard<'_, FakeRing> {
        self.0.lock().expect("no thread panics while it is locked")
    }

    /// Lends the ring to `work`.
    pub fn with<T>(&self, work: impl FnOnce(&mut FakeRing) -> T) -> T {
        work(&mut self.get())
    }
}

impl TxRing for SharedRing {
    type Error = Broken;

    fn capacity_slots(&self) -> u32 {
        self.get().capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        self.get().free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.get().slots_of_largest()
    }

    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.get().submit(packet, now_ns)
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Broken> {
        self.get().kick(now_ns)
    }
}

impl Completions for SharedRing {
    type Error = Broken;

    fn slots_free(&self) -> u32 {
        self.get().free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Broken> {
        self.get().reap(now_ns, budget_packets, freed)
    }

    fn in_ring(&self) -> Option<InRing> {
        self.get().in_ring()
    }
}

/// Accounts for every frame: each index must return exactly once.
#[derive(Debug, Default)]
pub struct Books {
    pub freed: Vec<u32>,
    pub freed_bytes: u64,
    pub dropped: Vec<(u32, DropReason)>,
    pub marked: Vec<u32>,
    /// Frames of unknown completions.
    pub unknown: Vec<u32>,
}

impl PacketSink for Books {
    fn freed(&mut self, packet: Packet) {
        self.freed_bytes += u64::from(packet.wire_bytes());
        self.freed.push(packet.into_frame().index());
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push((packet.into_frame().index(), reason));
    }

    fn marked(&mut self, packet: &Packet) {
        assert_eq!(packet.ecn(), Ecn::Marked, "marked packet without a mark");
        self.marked.push(packet.frame().index());
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.unknown.push(packet.into_frame().index());
    }
}

/// A sink for tests in which no packet is dropped.
pub struct FreedOnly;

impl PacketSink for FreedOnly {
    fn freed(&mut self, packet: Packet) {
        let _ = packet.into_frame();
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let _ = packet.into_frame();
        panic!("dropped: {}", reason.name());
    }
}

/// splitmix64: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A plain packet.
pub fn packet(frame: u32, bytes: u32) -> Packet {
    Packet::new(Frame::new(frame), bytes)
}

/// A queue over a fake ring, with `pfifo`.
pub struct Bench<L: Limit, P: Probe = ()> {
    pub queue: Queue<FakeRing, L, Fifo, P>,
    pub books: Books,
    pub now_ns: u64,
    next_frame: u32,
}

impl<L: Limit> Bench<L> {
    pub fn new(limit: L, slots: u32) -> Self {
        Self::with(limit, FakeRing::new(slots), QueueConfig::default(), ())
    }
}

impl<L: Limit, P: Probe> Bench<L, P> {
    pub fn with(limit: L, ring: FakeRing, config: QueueConfig, probe: P) -> Self {
        let queue = Queue::builder_for(ring)
            .with_limit(limit)
            .with_qdisc(Fifo::new(10_000))
            .probe(probe)
            .config(config)
            .build(0);
        Self {
            queue: queue.expect("the settings are valid"),
            books: Books::default(),
            now_ns: 0,
            next_frame: 0,
        }
    }

    /// Enqueues `count` packets of `bytes`.
    pub fn enqueue(&mut self, count: u32, bytes: u32) {
        for _ in 0..count {
            let packet = packet(self.next_frame, bytes);
            self.next_frame += 1;
            self.queue.enqueue(packet, self.now_ns, &mut self.books);
        }
    }

    pub fn run(&mut self) -> Stop<Broken> {
        self.queue.run(self.now_ns, &mut self.books)
    }

    /// A microsecond later, the device completes `count` packets and interrupts.
    pub fn complete(&mut self, count: usize) -> Completed {
        self.try_complete(count).expect("nothing is broken")
    }

    pub fn try_complete(&mut self, count: usize) -> Result<Completed, CompleteError<Broken>> {
        self.now_ns += 1_000;
        self.queue.device_mut().finish(count);
        self.queue.complete(self.now_ns, &mut self.books)
    }

    pub fn in_ring(&self) -> usize {
        self.queue.device().packets()
    }
}
