//! Receiving what comes in on a device.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::SocketFlags;

use crate::error::{failed, invalid};
use crate::link::{self, MacAddress};
use crate::netns::NetNs;
use crate::sys;
use crate::sys::packet::Tag;
use crate::vnet_header::VirtioNetHeader;

/// The longest frame: Ethernet header, VLAN tag, the longest IP packet.
const FRAME_LIMIT_BYTES: usize = 14 + 4 + 65_535;
/// A VLAN tag.
const TAG_BYTES: usize = 4;
/// What may wait to be received: about 1,800 frames of 1514 bytes, 21 ms at 1 Gbit/s.
const RECEIVE_BUFFER_BYTES: libc::c_int = 4 << 20;

/// Receives a copy of every frame that comes in on a device, not of those that go out.
///
/// Each comes behind a [`VirtioNetHeader`], as from a TAP, since a sender on the same machine
/// leaves checksums open and GSO packets uncut. What is received can be written to a
/// [`Tap`](crate::Tap) as it is: a VLAN tag that the kernel took off is in its place again.
#[derive(Debug)]
pub struct PacketReceiver {
    fd: OwnedFd,
    device: String,
    index: u32,
}

impl PacketReceiver {
    /// Bytes that the longest frame takes with its header.
    pub const READ_LIMIT_BYTES: usize = VirtioNetHeader::BYTES + FRAME_LIMIT_BYTES;

    /// Starts to receive.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        let index = link::index(ns, device)?;
        let named = |call| move |cause| failed(call, device, cause);
        let fd = super::open_socket(ns, device, SocketFlags::NONBLOCK)?;
        for (call, option) in [
            ("PACKET_VNET_HDR", libc::PACKET_VNET_HDR),
            ("PACKET_IGNORE_OUTGOING", libc::PACKET_IGNORE_OUTGOING),
            ("PACKET_AUXDATA", libc::PACKET_AUXDATA),
        ] {
            sys::socket::set_option(fd.as_fd(), libc::SOL_PACKET, option, 1)
                .map_err(named(call))?;
        }
        let set = |option| {
            sys::socket::set_option(fd.as_fd(), libc::SOL_SOCKET, option, RECEIVE_BUFFER_BYTES)
        };
        // The first goes beyond `net.core.rmem_max`, but not from within a user namespace.
        set(libc::SO_RCVBUFFORCE)
            .or_else(|_| set(libc::SO_RCVBUF))
            .map_err(named("SO_RCVBUF"))?;
        sys::packet::bind(fd.as_fd(), index, libc::ETH_P_ALL as u16).map_err(named("bind"))?;
        Ok(Self {
            fd,
            device: device.to_owned(),
            index,
        })
    }

    /// Receives what is for others as well, for as long as the receiver lives: the device takes in
    /// every frame (promiscuous mode).
    ///
    /// # Errors
    /// What `PACKET_ADD_MEMBERSHIP` fails with.
    pub fn set_promiscuous(&self) -> io::Result<()> {
        sys::packet::add_promiscuous(self.fd.as_fd(), self.index)
            .map_err(|cause| failed("PACKET_ADD_MEMBERSHIP", &self.device, cause))
    }

    /// The kernel's number of the device that it listens to. Another device of the same name, made
    /// later, has another.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Receives one frame behind its virtio-net header, and answers how many bytes they take;
    /// `None` if none is waiting.
    ///
    /// # Errors
    /// `InvalidInput` if `into` is shorter than [`READ_LIMIT_BYTES`](Self::READ_LIMIT_BYTES);
    /// `InvalidData` for a frame that is longer than that, which is lost; else what `recvmsg`
    /// fails with, once `NetworkDown` when the device goes down.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let needs = Self::READ_LIMIT_BYTES;
        if into.len() < needs {
            return Err(invalid(format!(
                "buffer of {} bytes: {needs} are needed",
                into.len()
            )));
        }
        loop {
            let (bytes, tag) = match sys::packet::receive(self.fd.as_fd(), into) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed("recvmsg", &self.device, error)),
            };
            let restored = match tag {
                _ if bytes > into.len() => None,
                Some(tag) => put_back(tag, into, bytes),
                None => Some(bytes),
            };
            return match restored {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(failed("recvmsg", &self.device, io::ErrorKind::InvalidData)),
            };
        }
    }

    /// Frames that were dropped because nobody read, since this was last asked.
    ///
    /// # Errors
    /// What `getsockopt` fails with.
    pub fn take_dropped(&self) -> io::Result<u32> {
        // `struct tpacket_stats`: received and dropped, set to 0 by reading.
        let [_, dropped] =
            sys::socket::option::<2>(self.fd.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS)
                .map_err(|cause| failed("PACKET_STATISTICS", &self.device, cause))?;
        Ok(dropped)
    }
}

impl AsFd for PacketReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Puts a VLAN tag behind the addresses of the frame, which with its header has the first `bytes`
/// of `buffer`, and answers how many they have then; `None` if there is no room.
fn put_back(tag: Tag, buffer: &mut [u8], bytes: usize) -> Option<usize> {
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
    fn a_tag_stands_behind_the_addresses_and_moves_what_is_open() {
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
        assert_eq!(put_back(tag, &mut buffer, 50), Some(54));
        let (header, tagged) = VirtioNetHeader::split(&buffer[..54]).expect("header");
        assert_eq!((header.checksum_start, header.checksum_offset), (38, 6));
        assert_eq!(tagged[..12], frame[..12]);
        assert_eq!(tagged[12..16], [0x88, 0xa8, 0xe1, 0x23]);
        assert_eq!(tagged[16..], frame[12..]);
        assert_eq!(put_back(tag, &mut buffer, 52), None, "no room");
        assert_eq!(put_back(tag, &mut buffer, 21), None, "no addresses");
    }
}
