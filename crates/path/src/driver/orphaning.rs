//! A driver that lets go of a packet's owner at submission.

use super::{Completions, Pieces, TxRing, forward_completions};
use crate::packet::Packet;

/// Wraps a driver and, while `orphans` is set, gives each packet's budget back when it is submitted
/// rather than when the device is done with it: what some drivers do, and what defeats small
/// queues. The completer counts such packets (`orphaned_packets`).
#[derive(Debug)]
pub struct Orphaning<D> {
    /// The driver.
    pub driver: D,
    /// Whether packets lose their owner.
    pub orphans: bool,
}

impl<D: TxRing> Orphaning<D> {
    // Apart, so that a packet that keeps its owner goes on in one piece.
    #[inline(never)]
    fn submit_orphan(&mut self, mut packet: Packet, now_ns: u64) -> Result<(), Packet> {
        drop(packet.take_charge());
        self.driver.submit(packet, now_ns)
    }
}

impl<D: TxRing> TxRing for Orphaning<D> {
    type Error = D::Error;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.driver.slots_free()
    }

    #[inline]
    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    fn pieces(&self) -> Pieces {
        self.driver.pieces()
    }

    fn lets_go(&self) -> bool {
        self.orphans || self.driver.lets_go()
    }

    #[inline(always)]
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        if self.orphans {
            return self.submit_orphan(packet, now_ns);
        }
        self.driver.submit(packet, now_ns)
    }

    #[inline]
    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error> {
        self.driver.kick(now_ns)
    }
}

impl<D: Completions> Completions for Orphaning<D> {
    type Error = D::Error;

    forward_completions!(this => this.driver);
}
