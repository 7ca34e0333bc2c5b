//! A kernel device driven over a packet ring, and a plain receiver for the way back.
//!
//! What the ring does, found by trying on Linux 6.18:
//! - A slot is available again when its frame has left the device's queueing discipline: behind a
//!   token bucket at 100 Mbit/s one each 120.1 us. A frame that a discipline throws away after it
//!   took it (the device goes down, a discipline drops from its head) shows the same.
//! - A discipline that refuses a frame (its own limit, `ENOBUFS`) leaves it in the ring, and the
//!   next doorbell offers it again: nothing is lost. So does a full send buffer (`EAGAIN`) and a
//!   device that is down (`ENETDOWN`). Since a sender may have nothing more to send, the
//!   completion half rings again for what was left.
//! - A frame that the device cannot carry stops the ring for good, unless `PACKET_LOSS` is set.
//!   It is set here: a frame that is too long since the MTU was lowered is skipped, and counted in
//!   [`TxCounters`]. Others are given back before they are in the ring.
//! - `POLLOUT` says that the *send buffer* is less than half full, and nothing about slots: while
//!   the byte limit is lower than that it is always on. Wake by a timer, once a cadence.

mod completions;
mod doorbell;
mod port;
mod promiscuous;
mod receiver;
mod ring;
mod sender;
mod state;
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

/// The Ethernet header, the least that is a frame.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// A packet socket in `ns`, meant for `device`, with `flags` of its type. Until it is bound it is
/// of protocol 0, so that nothing of other devices comes in.
fn open_socket(ns: &NetNs, device: &str, flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    ns.run(|| socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None))?
        .map_err(|cause| failed("socket AF_PACKET", device, cause))
}
