//! Drivers of an interface, in both directions.

mod packet;
mod xdp;

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::{CapabilitySet, Frames, NetNs, Port, VirtioNetHeader};

use crate::source::Renewal;

pub use packet::PacketInterface;
pub use xdp::XdpInterface;

/// Bytes of a frame beyond the MTU: its header and two VLAN tags.
pub const LINK_HEADER_BYTES: u32 = 14 + 2 * 4;

/// A driver of an interface, in both directions: receives its packets, and opens its transmit
/// ring. A new driver is a file in this directory.
pub trait Interface: Sized {
    /// The longest frame that can be received, in bytes.
    const MAX_FRAME_BYTES: u32;
    /// A remark for the user about the driver.
    const REMARK: Option<&'static str> = None;

    /// The transmit ring.
    type Port: Port;
    /// The frames of the packets that are sent on it.
    type Frames: Frames;

    /// Opens an interface, in both directions.
    fn open(config: &InterfaceConfig<'_>) -> io::Result<(Self::Port, Self::Frames, Self)>;

    /// Returns the capabilities that reopening needs, after the interface is open.
    fn kept() -> io::Result<CapabilitySet> {
        Ok(CapabilitySet::NET_RAW)
    }

    /// Opens a new ring. Packets received but not taken might be lost. On another device, it opens
    /// both directions, because the receiver was closed.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened now.
    fn reopen(&mut self, renewal: Renewal, port: &mut Self::Port) -> io::Result<()>;

    /// Receives up to `budget_packets` packets: frames and GSO packets, each with its virtio-net
    /// header. Returns `true` if there might be more.
    ///
    /// # Errors
    /// The interface might be down or removed; packets received before were passed on.
    fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(VirtioNetHeader, &mut [u8]),
    ) -> io::Result<bool>;

    /// Returns the packets lost since the last call.
    fn take_missed(&mut self) -> MissedPackets;

    /// Returns the descriptor to poll; `None` while it is closed.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// Sets the name of the interface after it was renamed.
    fn set_device(&mut self, name: &str);

    /// Closes the receiver of a removed interface until it is replaced.
    fn close(&mut self);

    /// Returns a remark for the user.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// Settings to open an interface.
pub struct InterfaceConfig<'a> {
    pub ns: &'a NetNs,
    pub device: &'a str,
    pub ring_slots: u32,
    /// Number of frames, for the backlog and the ring.
    pub frames: u32,
    /// GSO packets that can be stored whole until late segmentation, if the driver supports it.
    pub gso_packets: u32,
    /// The longest frame, with its header and VLAN tags.
    pub frame_bytes: u32,
}

/// Packets that were not received, and are lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissedPackets {
    /// The backlog was full, or no frame was free.
    pub buffer_full: u64,
    /// They were longer than the buffer, or a frame of the umem.
    pub too_long: u64,
}
