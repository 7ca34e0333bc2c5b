//! The device as a ring: frames not yet accepted by it, and frames not yet completed.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use taut_path::{Completions, InRing, Packet, TxRing};

pub(crate) struct Ring {
    slots: u32,
    /// Frames that the limit admitted, and for which the device has had no token yet.
    waiting: VecDeque<Packet>,
    /// Frames that the device accepted.
    submitted: VecDeque<Packet>,
    /// The number of the oldest frames of `submitted` that are complete.
    completed: usize,
    /// The device counts the frames that it has sent.
    pub(crate) has_sent_counter: bool,
}

impl Ring {
    pub(crate) fn new(slots: u32, has_sent_counter: bool) -> Self {
        Self {
            slots,
            waiting: VecDeque::with_capacity(slots as usize),
            submitted: VecDeque::with_capacity(slots as usize),
            completed: 0,
            has_sent_counter,
        }
    }

    /// Returns the next frame for the device.
    pub(crate) fn next(&self) -> Option<&Packet> {
        self.waiting.front()
    }

    /// Records that the device accepted [`next`](Self::next).
    pub(crate) fn taken(&mut self) {
        self.submitted.extend(self.waiting.pop_front());
        if !self.has_sent_counter {
            self.completed = self.submitted.len();
        }
    }

    /// Completes this many frames, at most those that the device has accepted.
    pub(crate) fn complete(&mut self, packets: u32) {
        let completed = self.completed.saturating_add(packets as usize);
        self.completed = completed.min(self.submitted.len());
    }

    /// Completes all frames, including those that the device has not accepted.
    pub(crate) fn complete_all(&mut self) {
        self.submitted.append(&mut self.waiting);
        self.completed = self.submitted.len();
    }

    fn free(&self) -> u32 {
        self.slots - (self.waiting.len() + self.submitted.len()) as u32
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
            if self.completed == 0 {
                break;
            }
            self.completed -= 1;
            self.submitted.pop_front().into_iter().for_each(&mut *freed);
        }
        Ok(self.completed > 0)
    }

    fn in_ring(&self) -> Option<InRing> {
        let packets = self.waiting.iter().chain(&self.submitted);
        Some(packets.fold(InRing::default(), |sum, packet| InRing {
            packets: sum.packets + 1,
            bytes: sum.bytes.saturating_add(packet.wire_bytes()),
        }))
    }

    fn completions_valid(&self) -> bool {
        self.has_sent_counter
    }
}
