//! The sending half of a packet ring.

use std::cell::RefCell;
use std::io;

use taut_path::classify::mark_congestion;
use taut_path::driver::ChunkSupport;
use taut_path::pool::FramePool;
use taut_path::{Ecn, Packet, TxRing};

use super::target::RingTxEnd;
use crate::frames::FrameSource;
use crate::handover::Taker;
use crate::port::ETHERNET_HEADER_BYTES;
use crate::vlan;

/// The sending half. Copies each packet or segment into its slot, and there sets CE on a packet
/// that was [marked](Ecn::Marked). Can run on another thread than the [completing
/// half](super::AfPacketCompletions).
#[derive(Debug)]
pub struct AfPacketTx<F = FramePool> {
    capacity_slots: u32,
    ring: RefCell<Taker<RingTxEnd>>,
    source: F,
}

impl<F> AfPacketTx<F> {
    pub(super) fn new(capacity_slots: u32, source: F, mut ring: Taker<RingTxEnd>) -> Self {
        // The first ring.
        ring.update();
        Self {
            capacity_slots,
            ring: RefCell::new(ring),
            source,
        }
    }
}

impl<F: FrameSource> TxRing for AfPacketTx<F> {
    type Error = io::Error;

    fn capacity_slots(&self) -> u32 {
        self.capacity_slots
    }

    /// 0 while the ring is being renewed.
    #[inline]
    fn slots_free(&self) -> u32 {
        let mut ring = self.ring.borrow_mut();
        ring.update();
        ring.end.as_ref().map_or(0, |ring| {
            self.capacity_slots.saturating_sub(ring.in_flight.packets())
        })
    }

    /// A segment is completed in its slot. If the source does not segment, a GSO packet is
    /// rejected.
    fn chunk_support(&self) -> ChunkSupport {
        if self.source.cuts() {
            ChunkSupport::SingleSegment
        } else {
            ChunkSupport::None
        }
    }

    /// # Errors
    /// Returns a packet whose frame is shorter than an Ethernet header, or longer than the device
    /// could carry when the ring was opened (a VLAN tag does not count), or for which there is no
    /// free slot.
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let Some(ring) = &mut self.ring.get_mut().end else {
            return Err(packet);
        };
        if ring.in_flight.free() == 0 {
            return Err(packet);
        }
        let number = ring.doorbell.submitted();
        let (source, limit) = (&self.source, ring.frame_limit_bytes);
        let filled = ring.writer.fill(number, |bytes| {
            let length = match packet.chunk() {
                None => source.copy_to(&packet, bytes),
                Some(_) => source.write_segment(&packet, bytes)?,
            };
            let frame = bytes.get_mut(..length)?;
            // Set in the slot only: the frame in the pool stays unchanged.
            if packet.ecn() == Ecn::Marked {
                mark_congestion(frame);
            }
            let limit = limit + vlan::customer_tag_bytes(frame);
            let length = u32::try_from(length).ok()?;
            (ETHERNET_HEADER_BYTES..=limit)
                .contains(&length)
                .then_some(length)
        });
        if !filled {
            return Err(packet);
        }
        ring.in_flight
            .put(ring.doorbell.slots.slot(number), packet)?;
        ring.doorbell.set_submitted(number + 1);
        Ok(())
    }

    /// A full discipline or send buffer is not an error: the packets stay in the ring.
    ///
    /// # Errors
    /// The error of `sendto` on the device, for instance `NetworkDown`; `ENOBUFS` if the discipline
    /// keeps rejecting a frame although it holds none of ours, as a token bucket does with a frame
    /// longer than its burst.
    fn kick(&mut self, _now_ns: u64) -> io::Result<()> {
        let ring = self.ring.get_mut();
        ring.update();
        match &ring.end {
            Some(ring) => ring.doorbell.ring(),
            // Without a ring, no packet was submitted.
            None => Ok(()),
        }
    }
}
