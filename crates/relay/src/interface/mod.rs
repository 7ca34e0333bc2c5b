//! The seam to a driver of an interface: where frames come from, and where they go.

mod packet;
mod xdp;

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::{Capability, Frames, NetNs, Port, VirtioNetHeader};

pub use packet::PacketInterface;
pub use xdp::XdpInterface;

/// What a frame may have beyond the MTU: its header and two VLAN tags.
pub const LINK_HEADER_BYTES: u32 = 14 + 2 * 4;

/// One way to drive an interface, in both directions. A new driver is a file beside this one.
pub trait Interface {
    type Port: Port;
    type Frames: Frames;
    type Receiver: Receiver;

    /// Opens an interface.
    fn open(wanted: &Wanted<'_>) -> io::Result<Opened<Self>>;

    /// What is kept of the privileges once it is open: what the other two calls need.
    fn kept() -> io::Result<Vec<Capability>> {
        Ok(vec![Capability::NetRaw])
    }

    /// A new ring on the same device. What was received and not taken may be lost.
    fn renew(port: &mut Self::Port, receiver: &mut Self::Receiver) -> io::Result<()>;

    /// Both ways anew, for another device has the name. The receiver was closed.
    fn replace(port: &mut Self::Port, receiver: &mut Self::Receiver) -> io::Result<()>;
}

/// What is wanted of an interface.
pub struct Wanted<'a> {
    pub ns: &'a NetNs,
    pub device: &'a str,
    pub ring_slots: u32,
    /// For what waits to go out and what is in the ring.
    pub frames: u32,
    /// GSO packets that may wait whole until late segmentation, where the driver can do it.
    pub gso_packets: u32,
    /// The longest frame, with its header and VLAN tags.
    pub frame_bytes: u32,
}

/// Both ways of an interface.
pub struct Opened<I: Interface + ?Sized> {
    /// What goes out.
    pub port: I::Port,
    /// What the port sends from.
    pub frames: I::Frames,
    /// What comes in.
    pub receiver: I::Receiver,
}

/// What an interface receives.
pub trait Receiver {
    /// Takes up to `budget_packets` packets that have come in, and says whether there may be more.
    ///
    /// # Errors
    /// If the interface is down or gone, perhaps; what was taken before was handed over.
    fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(Received<'_>),
    ) -> io::Result<bool>;

    /// Packets that the kernel dropped before they came to us, since this was last asked.
    fn take_missed(&mut self) -> u64;

    /// What to poll; `None` while it is closed.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// The interface is gone: receives no more until it is replaced.
    fn close(&mut self);

    /// What people should know of it.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// A packet that has come in.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// A frame or a GSO packet, and what is left to do with it.
    Packet(VirtioNetHeader, &'a mut [u8]),
    /// Longer than any frame; it is lost.
    TooLong,
}
