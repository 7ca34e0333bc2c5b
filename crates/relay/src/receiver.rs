//! The interface to received packets.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::VirtioNetHeader;

/// Packets that the kernel dropped before they were received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissedPackets {
    /// The backlog was full, or no frame was free.
    pub buffer_full: u64,
    /// They were longer than a frame of the umem.
    pub too_long: u64,
}

/// Receives the packets of an interface.
pub trait Receiver {
    /// Receives up to `budget_packets` packets. Returns `true` if there might be more.
    ///
    /// # Errors
    /// The interface might be down or removed; packets received before were passed on.
    fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(Received<'_>),
    ) -> io::Result<bool>;

    /// Returns the packets dropped by the kernel since the last call.
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

/// A received packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// A frame or a GSO packet, and the work left to do with it.
    Packet(VirtioNetHeader, &'a mut [u8]),
    /// Longer than any frame; it is lost.
    TooLong,
}
