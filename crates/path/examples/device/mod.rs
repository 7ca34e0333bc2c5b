//! A ring and a sink with almost no cost, so that the cost of the queue is measured.

use std::collections::VecDeque;
use std::convert::Infallible;

use taut_path::driver::ChunkSupport;
use taut_path::limit::Limit;
use taut_path::qdisc::Qdisc;
use taut_path::{Completions, DropReason, Packet, PacketSink, Queue, TxRing};

/// Slots of the ring.
pub const SLOTS: u32 = 1024;

/// Time between two batches, in ns: a packet at 1 Gbit/s.
pub const STEP_NS: u64 = 12_304;

/// A device that completes a packet when it is submitted, and takes chunks.
pub struct Instant(VecDeque<Packet>);

impl Instant {
    pub fn new() -> Self {
        Self(VecDeque::with_capacity(SLOTS as usize))
    }

    pub fn free(&self) -> u32 {
        SLOTS - self.0.len() as u32
    }
}

impl TxRing for Instant {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        SLOTS
    }

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.0.push_back(packet);
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Instant {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        for _ in 0..budget_packets {
            match self.0.pop_front() {
                Some(packet) => freed(packet),
                None => break,
            }
        }
        Ok(!self.0.is_empty())
    }
}

/// Counts completed packets.
#[derive(Default)]
pub struct Freed(pub u64);

impl PacketSink for Freed {
    fn freed(&mut self, packet: Packet) {
        let _ = packet.into_frame();
        self.0 += 1;
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = packet.into_frame();
    }
}

/// Sends and completes all packets in the discipline: in several batches while the limit is still
/// small.
#[inline(always)]
pub fn send_all<L: Limit, Q: Qdisc>(
    queue: &mut Queue<Instant, L, Q>,
    now_ns: &mut u64,
    freed: &mut Freed,
) {
    loop {
        let _ = queue.run(*now_ns, freed);
        *now_ns += STEP_NS;
        let completed = queue.complete(*now_ns, freed).expect("in flight");
        if !completed.schedule {
            break;
        }
    }
}
