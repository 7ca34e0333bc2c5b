//! A ring with almost no cost, so that the cost of the queue is measured.

use std::collections::VecDeque;
use std::convert::Infallible;

use taut_path::driver::ChunkSupport;
use taut_path::{Completions, Packet, TxRing};

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
