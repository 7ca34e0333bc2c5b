//! The sending half of a packet ring.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use taut_path::{Packet, TxRing};

use super::ETHERNET_HEADER_BYTES;
use super::doorbell::{By, TxCounters};
use super::ring::Shared;
use crate::frame_pool::FrameSource;
use crate::sys::packet_ring::SlotWriter;

/// The length of a frame that the kernel is to skip: it is no Ethernet frame.
const SKIPPED_BYTES: u32 = 0;

/// The sending half: copies each packet's bytes into its slot. May be on another thread than the
/// [completion half](super::AfPacketCompletions).
#[derive(Debug)]
pub struct AfPacketTx<F> {
    shared: Arc<Shared>,
    writer: SlotWriter,
    source: F,
    frame_limit_bytes: u32,
    send_buffer_suffices: bool,
}

impl<F: FrameSource> AfPacketTx<F> {
    pub(super) fn new(
        shared: Arc<Shared>,
        writer: SlotWriter,
        source: F,
        frame_limit_bytes: u32,
        send_buffer_suffices: bool,
    ) -> Self {
        Self {
            shared,
            writer,
            source,
            frame_limit_bytes,
            send_buffer_suffices,
        }
    }
}

impl<F> AfPacketTx<F> {
    /// The longest frame in bytes, with its Ethernet header.
    pub fn frame_limit_bytes(&self) -> u32 {
        self.frame_limit_bytes
    }

    /// Whether the kernel takes a full ring at once. If not (in a user namespace, with a
    /// small `net.core.wmem_max`), nothing is lost, but the device sees less than is in the ring.
    pub fn send_buffer_suffices(&self) -> bool {
        self.send_buffer_suffices
    }

    /// What did not go the plain way.
    pub fn counters(&self) -> TxCounters {
        let refused = self.shared.refused_packets.load(Ordering::Relaxed);
        self.shared.doorbell.counters(refused)
    }
}

impl<F: FrameSource> TxRing for AfPacketTx<F> {
    type Error = io::Error;

    fn slots_free(&self) -> u32 {
        self.shared.slots_free()
    }

    /// One: a slot holds a whole frame.
    fn slots_of_largest(&self) -> u32 {
        1
    }

    /// A packet of no free slot, or whose frame the device cannot carry, is refused: the first
    /// comes back never, which is the caller's mistake; the second as completed, and is counted.
    fn submit(&mut self, packet: Packet, _now_ns: u64) {
        let number = self.shared.submitted();
        let (source, limit) = (&self.source, self.frame_limit_bytes);
        let mut refused = false;
        let filled = self.writer.fill(self.shared.slot(number), |bytes| {
            let length = u32::try_from(source.copy_to(packet.frame(), bytes)).unwrap_or(u32::MAX);
            refused = !(ETHERNET_HEADER_BYTES..=limit).contains(&length);
            if refused { SKIPPED_BYTES } else { length }
        });
        debug_assert!(filled, "submitted without a free slot");
        if refused {
            self.shared.refused_packets.fetch_add(1, Ordering::Relaxed);
        }
        if filled {
            self.shared.put(number, packet);
        }
    }

    /// A full discipline or send buffer is not an error: see [`TxCounters`].
    ///
    /// # Errors
    /// What `sendto` on the device fails with, for instance `NetworkDown`; `ENOBUFS` if the
    /// discipline goes on refusing a frame though nothing of ours is in it, as a token bucket does
    /// with one that is longer than it is deep.
    fn kick(&mut self, _now_ns: u64) -> io::Result<()> {
        self.shared.doorbell.ring(&self.shared, By::Sender)
    }
}

impl<F> AsFd for AfPacketTx<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.doorbell.fd().as_fd()
    }
}
