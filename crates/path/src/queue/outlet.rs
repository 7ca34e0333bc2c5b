//! The sender's state for packets on their way into the ring, except the discipline.

use super::admission::Admission;
use super::counters::add;
use super::shared::Shared;
use crate::driver::TxRing;
use crate::late_segmentation::{LateSegmenter, Plan, Unsegmented};
use crate::limit::Unit;
use crate::packet::{Packet, Tag};
use crate::sharing::{Sharing, Word};
use taut_dql::stall::{GenerationClock, MAX_GENERATIONS};

const _: () = assert!(Tag::GENERATIONS == MAX_GENERATIONS);

/// The path of a packet into the ring.
pub(super) struct Outlet<A> {
    /// The tag of packets that are sent now.
    pub tag: Tag,
    /// The time of its next generation.
    pub generations: GenerationClock,
    pub unit: UnitMask,
    /// The second limit, if there is one.
    pub admission: A,
    pub gso: GsoPackets,
    /// The device has not seen all packets in the ring.
    pub kick_pending: bool,
    pub burst_packets: u32,
}

impl<A: Admission> Outlet<A> {
    /// Begins a generation of packets if it is time.
    #[inline]
    pub(super) fn begin_generation<M: Sharing>(&mut self, shared: &Shared<M>, now_ns: u64) {
        let clock = &mut self.generations;
        if let Some(generation) = clock.run(&shared.generations, &shared.ledger, now_ns) {
            self.tag = self.tag.in_generation(generation);
        }
    }

    /// Returns `true` if both limits admit one more packet.
    #[inline]
    pub(super) fn has_room<M: Sharing>(&self, shared: &Shared<M>) -> bool {
        self.admission.admits(shared.ledger.has_room())
    }

    /// Counts a packet, before the device can see it. Returns `false` if it cannot be counted.
    #[inline]
    pub(super) fn count<M: Sharing>(
        &self,
        shared: &Shared<M>,
        units: u32,
        bytes: u32,
        now_ns: u64,
    ) -> bool {
        if !self.admission.can_charge(bytes) {
            return false;
        }
        shared.ledger.record_return(now_ns);
        let counted = shared.ledger.queued(units).is_ok();
        if counted {
            self.admission.charge(bytes, now_ns);
        }
        counted
    }

    /// Removes the packets that were counted last, because the device refused them.
    pub(super) fn uncount<M: Sharing>(&self, shared: &Shared<M>, units: u32, bytes: u32) {
        shared.ledger.subtract_queued(units);
        self.admission.uncharge(bytes);
    }

    /// Rings the doorbell for packets that the device has not seen yet.
    #[inline]
    pub(super) fn kick<M: Sharing, R: TxRing>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        now_ns: u64,
    ) -> Result<(), R::Error> {
        if self.kick_pending {
            ring.kick(now_ns)?;
            self.kick_pending = false;
            add(&shared.sender.kicks, 1);
        }
        Ok(())
    }
}

/// Converts a packet to units of the limit, without a branch.
#[derive(Clone, Copy)]
pub(super) struct UnitMask {
    kept_bits: u32,
    set_bits: u32,
}

impl UnitMask {
    pub(super) const fn new(unit: Unit) -> Self {
        let (kept_bits, set_bits) = match unit {
            Unit::Bytes => (u32::MAX, 0),
            Unit::Packets => (0, 1),
        };
        Self {
            kept_bits,
            set_bits,
        }
    }

    /// Returns the units of a packet of `bytes`.
    #[inline]
    pub(super) const fn of(self, bytes: u32) -> u32 {
        bytes & self.kept_bits | self.set_bits
    }

    /// Returns the bytes of a packet of `units`; 0 if the units are packets.
    pub(super) const fn bytes_of(self, units: u32) -> u32 {
        units & self.kept_bits
    }

    /// Returns the units of `packets` with `bytes` in total.
    pub(super) const fn of_many(self, packets: u32, bytes: u32) -> u32 {
        if self.set_bits == 0 { bytes } else { packets }
    }
}

/// The sender's state for GSO packets that are sent in chunks.
pub(super) struct GsoPackets {
    pub segmenter: LateSegmenter,
    /// A GSO packet that left the discipline and is sent next, in chunks. Only within a run.
    pub stash: Option<(Packet, Plan)>,
    /// Chunks of the current burst.
    pub chunks: u32,
}

impl GsoPackets {
    /// Returns how to segment a GSO packet, or `None` if it is sent whole.
    #[cold]
    #[inline(never)]
    pub(super) fn plan<M: Sharing>(&self, shared: &Shared<M>, packet: Unsegmented) -> Option<Plan> {
        let max_bytes = match self.segmenter.chunks_in_limit {
            Some(chunks) => shared.ledger.limit() / chunks,
            None => shared.chunk_bytes.load(),
        };
        self.segmenter.plan(packet, max_bytes)
    }
}
