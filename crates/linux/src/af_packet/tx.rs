//! The sending half of a packet ring.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use taut_path::classify::mark_congestion;
use taut_path::pool::FramePool;
use taut_path::{Ecn, Packet, TxRing};

use super::doorbell::{By, TxCounters};
use super::ring::{Opened, Place, Shared};
use super::{ETHERNET_HEADER_BYTES, VLAN_TAG_BYTES};
use crate::frame_source::FrameSource;

/// The sending half: copies each packet's bytes into its slot, and writes there the mark of one
/// that was [marked](Ecn::Marked). May be on another thread than the
/// [completion half](super::AfPacketCompletions).
#[derive(Debug)]
pub struct AfPacketTx<F = FramePool> {
    place: Place,
    ring: Opened,
    source: F,
}

impl<F: FrameSource> AfPacketTx<F> {
    pub(super) fn new(place: Place, ring: Opened, source: F) -> Self {
        Self {
            place,
            ring,
            source,
        }
    }
}

impl<F> AfPacketTx<F> {
    /// The longest frame in bytes, with its Ethernet header.
    pub fn frame_limit_bytes(&self) -> u32 {
        self.ring.frame_limit_bytes
    }

    /// Whether the kernel takes a full ring at once. If not (in a user namespace, with a
    /// small `net.core.wmem_max`), nothing is lost, but the device sees less than is in the ring.
    pub fn send_buffer_suffices(&self) -> bool {
        self.ring.send_buffer_suffices
    }

    /// What did not go the plain way.
    pub fn counters(&self) -> TxCounters {
        self.ring.shared.doorbell.counters()
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        &self.place.device
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.ring.shared
    }

    /// Replaces the ring by a new one; the other half must hear of it.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        let judge = self.ring.shared.doorbell.truth_judge();
        self.ring = self.place.open(judge)?;
        Ok(())
    }
}

impl<F: FrameSource> TxRing for AfPacketTx<F> {
    type Error = io::Error;

    fn capacity_slots(&self) -> u32 {
        self.ring.shared.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        self.ring.shared.slots_free()
    }

    /// # Errors
    /// Gives back a packet whose frame is shorter than an Ethernet header, or longer than the
    /// device could carry when the ring was opened (a VLAN tag does not count); and one for which
    /// there is no free slot.
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let number = self.ring.shared.submitted();
        let (source, limit) = (&self.source, self.ring.frame_limit_bytes);
        let filled = self
            .ring
            .writer
            .fill(self.ring.shared.slot(number), |bytes| {
                let length = source.copy_to(&packet, bytes);
                let frame = bytes.get_mut(..length)?;
                // In the slot, which is ours alone: the frame in the pool stays as it is.
                if packet.ecn() == Ecn::Marked {
                    mark_congestion(frame);
                }
                let limit = limit + tag_bytes(frame);
                let length = u32::try_from(length).ok()?;
                (ETHERNET_HEADER_BYTES..=limit)
                    .contains(&length)
                    .then_some(length)
            });
        if !filled {
            return Err(packet);
        }
        self.ring.shared.put(number, packet);
        Ok(())
    }

    /// A full discipline or send buffer is not an error: see [`TxCounters`].
    ///
    /// # Errors
    /// What `sendto` on the device fails with, for instance `NetworkDown`; `ENOBUFS` if the
    /// discipline goes on refusing a frame though nothing of ours is in it, as a token bucket does
    /// with one that is longer than it is deep.
    fn kick(&mut self, _now_ns: u64) -> io::Result<()> {
        self.ring
            .shared
            .doorbell
            .ring(&self.ring.shared, By::Sender)
    }
}

impl<F> AsFd for AfPacketTx<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.shared.doorbell.fd().as_fd()
    }
}

/// What a frame may have beyond the device's MTU: the kernel lets one VLAN tag of a customer through.
fn tag_bytes(frame: &[u8]) -> u32 {
    const CUSTOMER_TAG: [u8; 2] = (libc::ETH_P_8021Q as u16).to_be_bytes();
    match frame.get(12..14) {
        Some(ethertype) if ethertype == CUSTOMER_TAG => VLAN_TAG_BYTES,
        _ => 0,
    }
}
