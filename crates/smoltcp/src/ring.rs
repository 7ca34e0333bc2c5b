//! The device as a ring: what it has not taken yet, and what it has not finished.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use taut_path::{Completions, InRing, Packet, TxRing};

pub(crate) struct Ring {
    slots: u32,
    /// Released by the limit; the device had no token for it yet.
    waiting: VecDeque<Packet>,
    /// The device has the bytes.
    given: VecDeque<Packet>,
    /// How many of `given`, the oldest, are finished.
    finished: usize,
    /// The device says what it finished.
    pub(crate) is_told: bool,
}

impl Ring {
    pub(crate) fn new(slots: u32, is_told: bool) -> Self {
        Self {
            slots,
            waiting: VecDeque::with_capacity(slots as usize),
            given: VecDeque::with_capacity(slots as usize),
            finished: 0,
            is_told,
        }
    }

    /// The next for the device.
    pub(crate) fn next(&self) -> Option<&Packet> {
        self.waiting.front()
    }

    /// The device took [`next`](Self::next).
    pub(crate) fn taken(&mut self) {
        self.given.extend(self.waiting.pop_front());
        if !self.is_told {
            self.finished = self.given.len();
        }
    }

    /// The device finished so many more. What it never had is not finished by it.
    pub(crate) fn finish(&mut self, packets: u32) {
        let finished = self.finished.saturating_add(packets as usize);
        self.finished = finished.min(self.given.len());
    }

    fn free(&self) -> u32 {
        self.slots - (self.waiting.len() + self.given.len()) as u32
    }
}

impl TxRing for Ring {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.waiting.push_back(packet);
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Ring {
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
            if self.finished == 0 {
                break;
            }
            self.finished -= 1;
            self.given.pop_front().into_iter().for_each(&mut *freed);
        }
        Ok(self.finished > 0)
    }

    fn in_ring(&self) -> Option<InRing> {
        let packets = self.waiting.iter().chain(&self.given);
        Some(packets.fold(InRing::default(), |sum, packet| InRing {
            packets: sum.packets + 1,
            bytes: sum.bytes.saturating_add(packet.wire_bytes()),
        }))
    }

    fn completions_valid(&self) -> bool {
        self.is_told
    }
}
