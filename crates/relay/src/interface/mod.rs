//! Drivers of an interface, in both directions.

mod packet;
mod xdp;

use std::io;

use taut_linux::{CapabilitySet, Frames, NetNs};

use crate::parts::Parts;
use crate::receiver::Receiver;
use crate::source::ReceivedFrames;

pub use packet::PacketInterface;
pub use xdp::XdpInterface;

/// Bytes of a frame beyond the MTU: its header and two VLAN tags.
pub const LINK_HEADER_BYTES: u32 = 14 + 2 * 4;

/// A driver of an interface, in both directions. A new driver is a file in this directory.
///
/// Its direction sends to one interface and receives from the other. [`Parts::reopen`] opens a new
/// ring on the same device; packets received but not taken might be lost. On another device, it
/// opens both directions: the receiver is closed.
pub trait Interface:
    Parts<Frames: Frames, Source = ReceivedFrames<<Self as Interface>::Receiver>, Probe = ()>
{
    /// The longest frame that can be received, in bytes.
    const MAX_FRAME_BYTES: u32;
    /// A remark for the user about the driver.
    const REMARK: Option<&'static str> = None;

    type Receiver: Receiver;

    /// Opens an interface, in both directions.
    fn open(config: &InterfaceConfig<'_>)
    -> io::Result<(Self::Port, Self::Frames, Self::Receiver)>;

    /// Returns the capabilities that reopening needs, after the interface is open.
    fn kept() -> io::Result<CapabilitySet> {
        Ok(CapabilitySet::NET_RAW)
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
