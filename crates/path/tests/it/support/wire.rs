//! A device with a fixed rate that is polled.

use std::collections::VecDeque;
use std::convert::Infallible;

use taut_path::driver::ChunkSupport;
use taut_path::{Completions, Packet, TxRing};

/// A wire: packets leave it one after another.
pub struct Wire {
    ring: VecDeque<Packet>,
    slots: u32,
    pub bytes_per_s: u64,
    pub now_ns: u64,
    /// Time at which the first packet began or the wire ran dry, in ns.
    pub began_ns: u64,
    finished: usize,
    pub busy_ns: u64,
    pub dry_ns: u64,
    pub longest_bytes: u32,
}

impl Wire {
    pub fn new(bytes_per_s: u64, slots: u32) -> Self {
        Self {
            ring: VecDeque::new(),
            slots,
            bytes_per_s,
            now_ns: 0,
            began_ns: 0,
            finished: 0,
            busy_ns: 0,
            dry_ns: 0,
            longest_bytes: 0,
        }
    }

    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        while let Some(packet) = self.ring.get(self.finished) {
            let ns = u64::from(packet.wire_bytes()) * 1_000_000_000 / self.bytes_per_s;
            if self.began_ns + ns > now_ns {
                return;
            }
            self.began_ns += ns;
            self.busy_ns += ns;
            self.finished += 1;
        }
        self.dry_ns += now_ns.saturating_sub(self.began_ns);
        self.began_ns = now_ns;
    }
}

impl TxRing for Wire {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.slots - self.ring.len() as u32
    }

    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.advance(now_ns);
        self.longest_bytes = self.longest_bytes.max(packet.wire_bytes());
        self.ring.push_back(packet);
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Wire {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    fn reap(
        &mut self,
        now_ns: u64,
        _budget: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        self.advance(now_ns);
        self.ring.drain(..self.finished).for_each(freed);
        self.finished = 0;
        Ok(false)
    }
}
