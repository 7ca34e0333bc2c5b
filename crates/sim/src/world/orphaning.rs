//! A driver that orphans packets.

use std::collections::VecDeque;

use taut_path::tsq::Charges;

use crate::nic::EmulatedNic;

/// Releases the charge of each packet when it is submitted, as some drivers do, so that small
/// queues limit nothing.
#[derive(Default)]
pub(super) struct Orphans {
    /// Whether the charge of each packet in the ring was released, oldest first.
    released: VecDeque<bool>,
    /// Packets that the NIC completed after their charge was released.
    pub packets: u64,
}

impl Orphans {
    /// Releases the charges of the packets submitted since the last call.
    pub fn submitted(&mut self, nic: &EmulatedNic, charges: &Charges) {
        for packet in nic.packets().skip(self.released.len()) {
            // The charge of a packet that is sent in chunks belongs to the last of them.
            let is_end = packet.chunk().is_none_or(|chunk| chunk.is_last);
            self.released
                .push_back(is_end && charges.release(packet.frame()));
        }
    }

    /// Counts the packets completed since the last call.
    pub fn completed(&mut self, nic: &EmulatedNic) {
        let gone = self.released.len() - nic.packets_in_ring();
        let orphaned = self.released.drain(..gone).filter(|&it| it);
        self.packets += orphaned.count() as u64;
    }
}
