//! A fake device and a sink that keeps the books, for the tests of the path.

pub mod decimal;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;

use taut_path::limit::Limit;
use taut_path::qdisc::Fifo;
use taut_path::{
    Completions, DropReason, Ecn, Frame, Packet, PacketSink, Probe, QueueConfig, TxQueue, TxRing,
};

/// A waker that counts.
#[derive(Default)]
pub struct Wakes(AtomicU64);

impl Wakes {
    /// Wake-ups since this was last asked.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The doorbell or the reaping of the fake did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

/// A ring whose device finishes packets when it is told to.
#[derive(Debug)]
pub struct FakeRing {
    pub slots: u32,
    pub slots_per_packet: u32,
    /// Submitted; the device has not seen them yet.
    pub submitted: VecDeque<Packet>,
    /// Kicked and not finished.
    pub in_device: VecDeque<Packet>,
    pub finished: VecDeque<Packet>,
    /// Packets behind each doorbell that worked.
    pub trains: Vec<usize>,
    /// Doorbells that will fail.
    pub failing_kicks: u32,
    /// Doorbells that failed.
    pub failed_kicks: u32,
    /// The next reaping hands out what is finished and then fails.
    pub failing_reap: bool,
    /// The device finishes packets before `kick` returns.
    pub instant: bool,
    /// Most slots that were ever in use.
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
            trains: Vec::new(),
            failing_kicks: 0,
            failed_kicks: 0,
            failing_reap: false,
            instant: false,
            most_used: 0,
        }
    }

    pub fn packets(&self) -> usize {
        self.submitted.len() + self.in_device.len() + self.finished.len()
    }

    fn free(&self) -> u32 {
        self.slots - self.packets() as u32 * self.slots_per_packet
    }

    /// The device finishes up to `count` of what it has seen, oldest first.
    pub fn finish(&mut self, count: usize) {
        let count = count.min(self.in_device.len());
        self.finished.extend(self.in_device.drain(..count));
    }
}

impl TxRing for FakeRing {
    type Error = Broken;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.slots_per_packet
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) {
        assert!(
            self.free() >= self.slots_per_packet,
            "submitted to a full ring"
        );
        self.submitted.push_back(packet);
        self.most_used = self.most_used.max(self.slots - self.free());
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Broken> {
        if self.failing_kicks > 0 {
            self.failing_kicks -= 1;
            self.failed_kicks += 1;
            return Err(Broken);
        }
        self.trains.push(self.submitted.len());
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
        if std::mem::take(&mut self.failing_reap) {
            return Err(Broken);
        }
        Ok(!self.finished.is_empty())
    }
}

/// Keeps the books of every frame: each index must come back exactly once.
#[derive(Debug, Default)]
pub struct Books {
    pub freed: Vec<u32>,
    pub freed_bytes: u64,
    pub dropped: Vec<(u32, DropReason)>,
    pub marked: Vec<u32>,
}

impl PacketSink for Books {
    fn freed(&mut self, packet: Packet) {
        self.freed_bytes += u64::from(packet.wire_bytes);
        self.freed.push(packet.into_frame().index());
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push((packet.into_frame().index(), reason));
    }

    fn marked(&mut self, packet: &Packet) {
        assert_eq!(packet.ecn, Ecn::Marked, "told of a mark that is not there");
        self.marked.push(packet.frame().index());
    }
}

/// A plain packet.
pub fn packet(frame: u32, bytes: u32) -> Packet {
    Packet::new(Frame::new(frame), bytes)
}

/// A queue over a fake ring, with `pfifo`.
pub struct Bench<L: Limit, P: Probe = ()> {
    pub queue: TxQueue<L, FakeRing, P>,
    pub books: Books,
    pub now_ns: u64,
    next_frame: u32,
}

impl<L: Limit> Bench<L> {
    pub fn new(limit: L, slots: u32) -> Self {
        Self::with(limit, FakeRing::new(slots), QueueConfig::new(slots), ())
    }
}

impl<L: Limit, P: Probe> Bench<L, P> {
    pub fn with(limit: L, ring: FakeRing, config: QueueConfig, probe: P) -> Self {
        let queue = TxQueue::new(Box::new(Fifo::new(10_000)), limit, ring, probe, config, 0);
        Self {
            queue: queue.expect("the settings are valid"),
            books: Books::default(),
            now_ns: 0,
            next_frame: 0,
        }
    }

    /// Hands `count` packets of `bytes` to the discipline.
    pub fn enqueue(&mut self, count: u32, bytes: u32) {
        for _ in 0..count {
            let packet = packet(self.next_frame, bytes);
            self.next_frame += 1;
            self.queue.enqueue(packet, self.now_ns, &mut self.books);
        }
    }

    pub fn run(&mut self) -> taut_path::Stop<Broken> {
        self.queue.run(self.now_ns, &mut self.books)
    }

    /// A microsecond later the device finishes `count` packets and interrupts.
    pub fn complete(&mut self, count: usize) -> taut_path::queue::Completed {
        self.try_complete(count).expect("nothing is broken")
    }

    pub fn try_complete(
        &mut self,
        count: usize,
    ) -> Result<taut_path::queue::Completed, taut_path::queue::CompleteError<Broken>> {
        self.now_ns += 1_000;
        self.queue.driver_mut().finish(count);
        self.queue.complete(self.now_ns, &mut self.books)
    }

    pub fn in_ring(&self) -> usize {
        self.queue.driver().packets()
    }
}
