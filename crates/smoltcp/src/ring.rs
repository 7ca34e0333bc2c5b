//! The device as a ring: frames not yet accepted by it, and frames not yet completed.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use taut_path::{Completions, Packet, TxRing};

pub(crate) struct Ring {
    slots: u32,
    /// Frames that the limit admitted. The device accepted the oldest ones, and has had no token
    /// for the others yet.
    packets: VecDeque<Packet>,
    /// The number of frames that the device accepted.
    submitted: usize,
    /// The number of those that are complete.
    completed: usize,
    /// The device counts the frames that it has sent.
    pub(crate) has_sent_counter: bool,
}

impl Ring {
    pub(crate) fn new(slots: u32, has_sent_counter: bool) -> Self {
        Self {
            slots,
            packets: VecDeque::with_capacity(slots as usize),
            submitted: 0,
            completed: 0,
            has_sent_counter,
        }
    }

    /// Returns the next frame for the device.
    pub(crate) fn next(&self) -> Option<&Packet> {
        self.packets.get(self.submitted)
    }

    /// Records that the device accepted [`next`](Self::next).
    pub(crate) fn taken(&mut self) {
        self.submitted += 1;
        if !self.has_sent_counter {
            self.completed = self.submitted;
        }
    }

    /// Completes this many frames, at most those that the device has accepted.
    pub(crate) fn complete(&mut self, packets: u32) {
        let completed = self.completed.saturating_add(packets as usize);
        self.completed = completed.min(self.submitted);
    }

    /// Completes all frames, including those that the device has not accepted.
    pub(crate) fn complete_all(&mut self) {
        self.submitted = self.packets.len();
        self.completed = self.submitted;
    }
}

impl TxRing for Ring {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.slots - self.packets.len() as u32
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.packets.push_back(packet);
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Ring {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        let reaped = self.completed.min(budget_packets as usize);
        self.completed -= reaped;
        self.submitted -= reaped;
        self.packets.drain(..reaped).for_each(freed);
        Ok(self.completed > 0)
    }

    fn completions_valid(&self) -> bool {
        self.has_sent_counter
    }
}
