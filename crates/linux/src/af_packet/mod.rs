//! Drives a kernel device over a packet ring, and receives its frames on a packet socket.
//!
//! Behaviour of the ring, measured on Linux 6.18:
//! - A slot is available again when its frame has left the device's queueing discipline: behind a
//!   token bucket at 100 Mbit/s, one every 120.1 us. A slot also becomes available if the
//!   discipline drops the frame later, because the device goes down or because the discipline drops
//!   from its head.
//! - A frame that the discipline rejects at its limit (`ENOBUFS`) stays in the ring, and the next
//!   doorbell offers it again. The same is true of a full send buffer (`EAGAIN`) and of a device
//!   that is down (`ENETDOWN`). The sender might have nothing more to send, so the completing half
//!   rings again for the remaining frames.
//! - A frame that the device cannot carry stops the ring for good unless `PACKET_LOSS` is set, as
//!   it is here. A frame that became too long because the MTU was lowered is skipped, and its slot
//!   is available again. Other such frames are rejected before they are in the ring.
//! - `POLLOUT` reports that the *send buffer* is less than half full, and nothing about slots. It
//!   is always set while the byte limit is lower than that. Use a timer with the coalescing
//!   interval.

mod completions;
mod doorbell;
mod promiscuous;
mod receiver;
mod ring;
mod sender;
mod target;
mod tx;

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::error::failed;
use crate::netns::NetNs;

pub use completions::AfPacketCompletions;
pub use doorbell::TxCounters;
pub use promiscuous::Promiscuous;
pub use receiver::PacketReceiver;
pub use ring::{AfPacket, PacketConfig};
pub use sender::PacketSender;
pub use tx::AfPacketTx;

/// The Ethernet header: the minimum length of a frame.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// Opens a packet socket in `ns` for `device`, with `flags` of its type. Its protocol is 0 until it
/// is bound, so that it receives no frames of other devices.
fn open_socket(ns: &NetNs, device: &str, flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    ns.run(|| socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None))?
        .map_err(|cause| failed("socket AF_PACKET", device, cause))
}
