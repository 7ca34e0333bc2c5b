//! The sending half of a packet ring.

use std::cell::RefCell;
use std::io;

use taut_path::classify::mark_congestion;
use taut_path::driver::Pieces;
use taut_path::pool::FramePool;
use taut_path::{Ecn, Packet, TxRing};

use super::ETHERNET_HEADER_BYTES;
use super::doorbell::{By, TxCounters};
use super::target::OpenedRing;
use crate::frame_source::FrameSource;
use crate::handover::{Asked, Taker};
use crate::vlan;

/// The sending half: copies each packet's bytes into its slot, or a segment of them, and writes
/// there the mark of one that was [marked](Ecn::Marked). May be on another thread than the
/// [completion half](super::AfPacketCompletions).
#[derive(Debug)]
pub struct AfPacketTx<F = FramePool> {
    device: String,
    capacity_slots: u32,
    ends: RefCell<RenewableRing>,
    source: F,
}

/// The ring, and where the next one comes from.
#[derive(Debug)]
struct RenewableRing {
    /// `None` while the ring is being renewed.
    ring: Option<OpenedRing>,
    next: Taker<OpenedRing>,
}

impl RenewableRing {
    /// Does what the other half asked for, if anything.
    #[inline]
    fn heed(&mut self) -> Option<&mut OpenedRing> {
        match self.next.asked() {
            Asked::Nothing => {}
            Asked::Leave => {
                self.ring = None;
                self.next.left();
            }
            Asked::Take => self.ring = self.next.take(),
        }
        self.ring.as_mut()
    }
}

impl<F: FrameSource> AfPacketTx<F> {
    pub(super) fn new(
        device: &str,
        capacity_slots: u32,
        source: F,
        (ring, next): (OpenedRing, Taker<OpenedRing>),
    ) -> Self {
        Self {
            device: device.to_owned(),
            capacity_slots,
            ends: RefCell::new(RenewableRing {
                ring: Some(ring),
                next,
            }),
            source,
        }
    }
}

impl<F> AfPacketTx<F> {
    fn of_ring<R>(&self, ask: impl FnOnce(&OpenedRing) -> R) -> Option<R> {
        self.ends.borrow_mut().heed().map(|ring| ask(ring))
    }

    /// The longest frame in bytes, with its Ethernet header; one VLAN tag does not count. 0 while
    /// the ring is being renewed.
    pub fn frame_limit_bytes(&self) -> u32 {
        self.of_ring(|ring| ring.frame_limit_bytes).unwrap_or(0)
    }

    /// Whether the kernel takes a full ring at once. If not (in a user namespace, or opened
    /// [again](crate::Port::reopen) without CAP_NET_ADMIN, with a small `net.core.wmem_max`),
    /// nothing is lost, but the device sees less than is in the ring.
    pub fn send_buffer_suffices(&self) -> bool {
        self.of_ring(|ring| ring.send_buffer_suffices) == Some(true)
    }

    /// What did not go the plain way.
    pub fn counters(&self) -> TxCounters {
        self.of_ring(|ring| ring.shared.doorbell.counters())
            .unwrap_or_default()
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        &self.device
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
        self.of_ring(|ring| ring.shared.state.slots_free())
            .unwrap_or(0)
    }

    /// A segment is finished in its slot. With a source that cuts none, a GSO packet is refused.
    fn pieces(&self) -> Pieces {
        if self.source.cuts() {
            Pieces::OneSegment
        } else {
            Pieces::None
        }
    }

    /// # Errors
    /// Gives back a packet whose frame is shorter than an Ethernet header, or longer than the
    /// device could carry when the ring was opened (a VLAN tag does not count); and one for which
    /// there is no free slot.
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let Some(ring) = &mut self.ends.get_mut().ring else {
            return Err(packet);
        };
        let number = ring.shared.state.submitted();
        let (source, limit) = (&self.source, ring.frame_limit_bytes);
        let filled = ring.writer.fill(ring.shared.state.slot(number), |bytes| {
            let length = match packet.piece() {
                None => source.copy_to(&packet, bytes),
                Some(_) => source.write_segment(&packet, bytes)?,
            };
            let frame = bytes.get_mut(..length)?;
            // In the slot, which is ours alone: the frame in the pool stays as it is.
            if packet.ecn() == Ecn::Marked {
                mark_congestion(frame);
            }
            let limit = limit + vlan::tag_bytes(frame);
            let length = u32::try_from(length).ok()?;
            (ETHERNET_HEADER_BYTES..=limit)
                .contains(&length)
                .then_some(length)
        });
        if !filled {
            return Err(packet);
        }
        ring.shared.state.put(number, packet);
        Ok(())
    }

    /// A full discipline or send buffer is not an error: see [`TxCounters`].
    ///
    /// # Errors
    /// What `sendto` on the device fails with, for instance `NetworkDown`; `ENOBUFS` if the
    /// discipline goes on refusing a frame though nothing of ours is in it, as a token bucket does
    /// with one that is longer than it is deep.
    fn kick(&mut self, _now_ns: u64) -> io::Result<()> {
        match self.ends.get_mut().heed() {
            Some(ring) => ring.shared.doorbell.ring(&ring.shared.state, By::Sender),
            // Nothing was submitted to none.
            None => Ok(()),
        }
    }
}
