//! A NIC whose driver orphans packets.

use std::collections::HashSet;

use taut_path::driver::ChunkSupport;
use taut_path::tsq::Charges;
use taut_path::{Completions, Frame, InRing, Packet, TxRing};

use crate::nic::EmulatedNic;

/// An emulated NIC. While it orphans, its host releases the charge of each packet when the packet
/// is submitted, as some drivers do, and small queues limit nothing.
pub(super) struct OrphaningNic {
    pub driver: EmulatedNic,
    orphans: Option<Box<Orphans>>,
}

#[derive(Default)]
struct Orphans {
    /// Frames submitted since charges were last released.
    submitted: Vec<u32>,
    /// Frames in the ring whose charges were released.
    released: HashSet<u32>,
    /// Packets that the NIC completed after their charge was released.
    packets: u64,
}

impl OrphaningNic {
    pub fn new(driver: EmulatedNic) -> Self {
        Self {
            driver,
            orphans: None,
        }
    }

    /// Switches orphaning on or off.
    pub fn set_orphans(&mut self, orphans: bool) {
        self.orphans = orphans.then(Box::default);
    }

    /// Releases the charges of the packets submitted since the last call.
    pub fn release_submitted(&mut self, charges: &Charges) {
        let Some(orphans) = &mut self.orphans else {
            return;
        };
        let Orphans {
            submitted,
            released,
            ..
        } = &mut **orphans;
        let charged = |&frame: &u32| charges.release(&Frame::new(frame));
        released.extend(submitted.drain(..).filter(charged));
    }

    /// Packets completed after their charge was released.
    pub fn orphaned_packets(&self) -> u64 {
        self.orphans.as_ref().map_or(0, |orphans| orphans.packets)
    }
}

impl Orphans {
    #[cold]
    fn submitted(&mut self, packet: &Packet) {
        // The charge of a packet that is sent in chunks belongs to the last of them.
        if packet.chunk().is_none_or(|piece| piece.is_last) {
            self.submitted.push(packet.frame().index());
        }
    }

    fn completed(&mut self, packet: &Packet) {
        let is_end = packet.chunk().is_none_or(|piece| piece.is_last);
        let orphaned = is_end && self.released.remove(&packet.frame().index());
        self.packets += u64::from(orphaned);
    }
}

impl TxRing for OrphaningNic {
    type Error = <EmulatedNic as TxRing>::Error;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        TxRing::slots_free(&self.driver)
    }

    #[inline]
    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    fn chunk_support(&self) -> ChunkSupport {
        self.driver.chunk_support()
    }

    #[inline(always)]
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        if let Some(orphans) = &mut self.orphans {
            orphans.submitted(&packet);
        }
        self.driver.submit(packet, now_ns)
    }

    #[inline]
    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error> {
        self.driver.kick(now_ns)
    }
}

impl Completions for OrphaningNic {
    type Error = <EmulatedNic as Completions>::Error;

    #[inline]
    fn slots_free(&self) -> u32 {
        Completions::slots_free(&self.driver)
    }

    #[inline]
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error> {
        let Some(orphans) = &mut self.orphans else {
            return self.driver.reap(now_ns, budget_packets, freed);
        };
        self.driver.reap(now_ns, budget_packets, &mut |packet| {
            orphans.completed(&packet);
            freed(packet);
        })
    }

    fn in_ring(&self) -> Option<InRing> {
        self.driver.in_ring()
    }

    fn completions_valid(&self) -> bool {
        self.driver.completions_valid()
    }
}
