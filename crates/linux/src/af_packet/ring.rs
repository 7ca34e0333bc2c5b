//! Opening a transmit ring as two halves, and both as one port.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_path::TxRing;
use taut_path::driver::CompletionStatus;
use taut_path::pool::FramePool;

use super::completions::AfPacketCompletions;
use super::target::RingTarget;
use super::tx::AfPacketTx;
use crate::frames::FrameSource;
use crate::handover::handover;
use crate::link;
use crate::netns::NetNs;
use crate::port::{ETHERNET_HEADER_BYTES, Port};
use crate::vlan;

/// The transmit ring of a packet socket.
#[derive(Debug)]
pub struct AfPacket;

/// Settings of a ring with its own frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketConfig {
    /// Maximum number of packets in the ring, 1 to 65,536. Default 1,024.
    pub slots: u32,
    /// Number of frames: those in the ring, those that wait for it, and those returned but not yet
    /// refilled. Default 4,096.
    pub frames: u32,
}

impl Default for PacketConfig {
    fn default() -> Self {
        Self {
            slots: 1_024,
            frames: 4_096,
        }
    }
}

impl AfPacket {
    /// Opens a ring on `device` and allocates its frames. Each holds the device's current MTU, its
    /// Ethernet header and a VLAN tag.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW;
    /// `InvalidInput` for a number of slots out of range, or a ring of 4 GiB or more;
    /// `OutOfMemory`.
    pub fn open(
        ns: &NetNs,
        device: &str,
        config: &PacketConfig,
    ) -> io::Result<((AfPacketTx, AfPacketCompletions), FramePool)> {
        let mtu_bytes = link::describe(ns, device)?.mtu_bytes;
        let frame_bytes = mtu_bytes.saturating_add(ETHERNET_HEADER_BYTES + vlan::TAG_BYTES);
        let frames = FramePool::new(config.frames, frame_bytes);
        let port = Self::open_with(ns, device, config.slots, frames.clone())?;
        Ok((port, frames))
    }

    /// Opens a ring of `ring_slots` packets (1..=65536) on `device`, whose frames are in `source`.
    ///
    /// The maximum length of a frame is the device's current MTU and its Ethernet header.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with<F: FrameSource>(
        ns: &NetNs,
        device: &str,
        ring_slots: u32,
        source: F,
    ) -> io::Result<(AfPacketTx<F>, AfPacketCompletions)> {
        let place = RingTarget {
            ns: ns.clone(),
            device: device.to_owned(),
            slots: ring_slots,
        };
        let (giver, taker) = handover();
        let completions = AfPacketCompletions::open(place, giver)?;
        Ok((AfPacketTx::new(ring_slots, source, taker), completions))
    }
}

impl<F: FrameSource> Port for (AfPacketTx<F>, AfPacketCompletions) {
    fn device(&self) -> &str {
        self.1.device()
    }

    fn driver(&self) -> &'static str {
        "af_packet"
    }

    fn mode(&self) -> &'static str {
        "ring"
    }

    fn completion_status(&self) -> CompletionStatus {
        self.1.doorbell.completion_status()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.1.as_fd())
    }

    fn extra_bytes(frame: &[u8]) -> u32 {
        vlan::customer_tag_bytes(frame)
    }

    fn set_device(&mut self, name: &str) {
        name.clone_into(&mut self.1.place.device);
    }

    /// Packets that the kernel took from the old ring might still be sent.
    fn reopen(&mut self) -> io::Result<()> {
        let (tx, completions) = self;
        completions.request_reopen();
        // The sending half releases the old ring.
        tx.slots_free();
        completions.renew()?;
        // The sending half takes the new ring.
        tx.slots_free();
        Ok(())
    }
}
