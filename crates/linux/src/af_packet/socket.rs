//! Packet sockets without a ring: receiving, sending single frames as the host's own stack does,
//! and promiscuous mode.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send};

use crate::error::{Context, check_buffer, failed};
use crate::link::{self, MacAddress};
use crate::netns::NetNs;
use crate::sys::socket::{self, Tag};
use crate::vnet_header::VirtioNetHeader;

/// The longest GSO packet of the kernel (BIG TCP), with room for its headers and VLAN tags.
const FRAME_LIMIT_BYTES: usize = 8 * 65_535 + 256;
/// A VLAN tag.
const TAG_BYTES: usize = 4;
/// Backlog of received frames: about 1,800 of 1514 bytes, 21 ms at 1 Gbit/s.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Opens a packet socket in `ns` for `device`, with `flags` of its type. Its protocol is 0 until it
/// is bound, so that it receives no frames of other devices.
pub(super) fn open_socket(ns: &NetNs, device: &str, flags: SocketFlags) -> io::Result<OwnedFd> {
    ns.socket(AddressFamily::PACKET, SocketType::RAW, flags)?
        .context("socket AF_PACKET", device)
}

/// Sends frames one by one, each behind a [`VirtioNetHeader`](crate::VirtioNetHeader): the
/// counterpart of a [`PacketReceiver`](super::PacketReceiver). The kernel completes partial
/// checksums and segments GSO packets if the device cannot. Intended for tests and tools; use a
/// [ring](super::AfPacket) for load.
#[derive(Debug)]
pub struct PacketSender {
    fd: OwnedFd,
    device: String,
}

impl PacketSender {
    /// Opens a socket on `device`.
    ///
    /// # Errors
    /// `NotFound` if the device does not exist; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        let index = link::index(ns, device)?;
        let fd = open_socket(ns, device, SocketFlags::empty())?;
        socket::set_option(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)
            .context("PACKET_VNET_HDR", device)?;
        socket::bind_packet(&fd, index, 0).context("bind", device)?;
        Ok(Self {
            fd,
            device: device.to_owned(),
        })
    }

    /// Sends one frame with its virtio-net header. Blocks while the send buffer is full.
    ///
    /// # Errors
    /// The error of `send`: `InvalidInput` for a header that does not fit the frame, `EMSGSIZE` for
    /// a frame that the device cannot carry, `NetworkDown`.
    pub fn send(&self, header_and_frame: &[u8]) -> io::Result<()> {
        send(&self.fd, header_and_frame, SendFlags::NOSIGNAL)
            .map(drop)
            .context("send", &self.device)
    }
}

/// Keeps a device in promiscuous mode until this is dropped: it receives all frames, including
/// those for other hosts. This socket receives nothing; the frames are received by another one,
/// such as [`AfXdpReceiver`](crate::af_xdp::AfXdpReceiver). A
/// [`PacketReceiver`](super::PacketReceiver) has [a method](super::PacketReceiver::set_promiscuous)
/// for it.
#[derive(Debug)]
pub struct Promiscuous {
    _fd: OwnedFd,
}

impl Promiscuous {
    /// Sets promiscuous mode.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        let index = link::index(ns, device)?;
        let fd = open_socket(ns, device, SocketFlags::empty())?;
        socket::add_promiscuous(&fd, index).context("PACKET_ADD_MEMBERSHIP", device)?;
        Ok(Self { _fd: fd })
    }
}

/// Receives a copy of every frame that arrives on a device, but not of transmitted ones.
///
/// Each frame follows a [`VirtioNetHeader`], as from a TAP, because a sender on the same machine
/// leaves partial checksums and GSO packets. A frame can be written to a [`Tap`](crate::Tap)
/// without change: a VLAN tag that the kernel removed is reinserted.
#[derive(Debug)]
pub struct PacketReceiver {
    fd: OwnedFd,
    device: String,
    index: u32,
}

impl PacketReceiver {
    /// Length of the longest frame with its header, in bytes.
    pub const READ_LIMIT_BYTES: usize = VirtioNetHeader::BYTES + FRAME_LIMIT_BYTES;

    /// Starts receiving.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        let index = link::index(ns, device)?;
        let fd = open_socket(ns, device, SocketFlags::NONBLOCK)?;
        for (call, option) in [
            ("PACKET_VNET_HDR", libc::PACKET_VNET_HDR),
            ("PACKET_IGNORE_OUTGOING", libc::PACKET_IGNORE_OUTGOING),
            ("PACKET_AUXDATA", libc::PACKET_AUXDATA),
        ] {
            socket::set_option(&fd, libc::SOL_PACKET, option, 1).context(call, device)?;
        }
        // `SO_RCVBUFFORCE` can exceed `net.core.rmem_max`, but not in a user namespace.
        set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER_BYTES)
            .or_else(|_| set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER_BYTES))
            .context("SO_RCVBUF", device)?;
        socket::bind_packet(&fd, index, libc::ETH_P_ALL as u16).context("bind", device)?;
        Ok(Self {
            fd,
            device: device.to_owned(),
            index,
        })
    }

    /// Sets the device to promiscuous mode while the receiver exists: it also receives frames for
    /// other hosts.
    ///
    /// # Errors
    /// The error of `PACKET_ADD_MEMBERSHIP`.
    pub fn set_promiscuous(&self) -> io::Result<()> {
        socket::add_promiscuous(&self.fd, self.index).context("PACKET_ADD_MEMBERSHIP", &self.device)
    }

    /// Receives one frame behind its virtio-net header. Returns their length in bytes, or `None` if
    /// no frame is waiting.
    ///
    /// # Errors
    /// `InvalidInput` if `into` is shorter than [`READ_LIMIT_BYTES`](Self::READ_LIMIT_BYTES);
    /// `InvalidData` for a longer frame, which is lost; otherwise the error of `recvmsg`, including
    /// one `NetworkDown` when the device goes down.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        check_buffer(into.len(), Self::READ_LIMIT_BYTES)?;
        loop {
            let (bytes, tag) = match socket::receive_packet(&self.fd, into) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed("recvmsg", &self.device, error)),
            };
            let restored = match tag {
                _ if bytes > into.len() => None,
                Some(tag) => insert_tag(tag, into, bytes),
                None => Some(bytes),
            };
            return match restored {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(failed("recvmsg", &self.device, io::ErrorKind::InvalidData)),
            };
        }
    }

    /// Returns the number of frames dropped since the last call because the backlog was full.
    ///
    /// # Errors
    /// The error of `getsockopt`.
    pub fn take_dropped(&self) -> io::Result<u32> {
        // `struct tpacket_stats`: received and dropped. Reading resets both to 0.
        let [_, dropped] = socket::option::<2>(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)
            .context("PACKET_STATISTICS", &self.device)?;
        Ok(dropped)
    }
}

impl AsFd for PacketReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Inserts a VLAN tag after the addresses of the frame, which with its header has the first `bytes`
/// of `buffer`. Returns the new length, or `None` without room.
fn insert_tag(tag: Tag, buffer: &mut [u8], bytes: usize) -> Option<usize> {
    let at = VirtioNetHeader::BYTES + 2 * size_of::<MacAddress>();
    if !(at..=buffer.len().saturating_sub(TAG_BYTES)).contains(&bytes) {
        return None;
    }
    let (header, _) = VirtioNetHeader::split(buffer)?;
    let moved = header.moved_by(TAG_BYTES as u16);
    buffer[..VirtioNetHeader::BYTES].copy_from_slice(&moved.to_bytes());
    buffer.copy_within(at..bytes, at + TAG_BYTES);
    buffer[at..at + 2].copy_from_slice(&tag.protocol.to_be_bytes());
    buffer[at + 2..at + TAG_BYTES].copy_from_slice(&tag.control.to_be_bytes());
    Some(bytes + TAG_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_inserted_and_moves_the_partial_checksum() {
        let open = VirtioNetHeader {
            flags: 1,
            checksum_start: 34,
            checksum_offset: 6,
            ..VirtioNetHeader::default()
        };
        let frame: Vec<u8> = (0..40).collect();
        let mut buffer = [&open.to_bytes()[..], &frame, &[0xee; 5]].concat();
        let tag = Tag {
            protocol: 0x88a8,
            control: 0xe123,
        };
        assert_eq!(insert_tag(tag, &mut buffer, 50), Some(54));
        let (header, tagged) = VirtioNetHeader::split(&buffer[..54]).expect("header");
        assert_eq!((header.checksum_start, header.checksum_offset), (38, 6));
        assert_eq!(tagged[..12], frame[..12]);
        assert_eq!(tagged[12..16], [0x88, 0xa8, 0xe1, 0x23]);
        assert_eq!(tagged[16..], frame[12..]);
        assert_eq!(insert_tag(tag, &mut buffer, 52), None, "no room");
        assert_eq!(insert_tag(tag, &mut buffer, 21), None, "no addresses");
    }
}
