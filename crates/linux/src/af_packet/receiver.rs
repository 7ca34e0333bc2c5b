//! Receiving what comes in on a device.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::{failed, invalid};
use crate::link;
use crate::netns::NetNs;
use crate::sys;
use crate::vnet_header::VirtioNetHeader;

/// The longest frame: Ethernet header, VLAN tag, the longest IP packet.
const FRAME_LIMIT_BYTES: usize = 14 + 4 + 65_535;
/// What may wait to be received: about 1,800 frames of 1514 bytes, 21 ms at 1 Gbit/s.
const RECEIVE_BUFFER_BYTES: libc::c_int = 4 << 20;

/// Receives a copy of every frame that comes in on a device, not of those that go out.
///
/// Each comes behind a [`VirtioNetHeader`], as from a TAP, since a sender on the same machine leaves
/// checksums open and super-packets uncut. What is received can be written to a
/// [`Tap`](crate::Tap) as it is. VLAN tags are taken off.
#[derive(Debug)]
pub struct PacketReceiver {
    fd: OwnedFd,
    device: String,
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
        // Protocol 0 until it is bound, so that nothing of other devices comes in.
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
        let fd = ns
            .run(|| sys::socket::open(libc::AF_PACKET, kind, 0))?
            .map_err(named("socket AF_PACKET"))?;
        for (call, option) in [
            ("PACKET_VNET_HDR", libc::PACKET_VNET_HDR),
            ("PACKET_IGNORE_OUTGOING", libc::PACKET_IGNORE_OUTGOING),
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
        })
    }

    /// Receives one frame behind its virtio-net header, and answers how many bytes they take;
    /// `None` if none is waiting.
    ///
    /// # Errors
    /// `InvalidInput` if `into` is shorter than [`READ_LIMIT_BYTES`](Self::READ_LIMIT_BYTES);
    /// `InvalidData` for a frame that is longer than that, which is lost; else what `recv` fails
    /// with, once `NetworkDown` when the device goes down.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let needs = Self::READ_LIMIT_BYTES;
        if into.len() < needs {
            return Err(invalid(format!(
                "buffer of {} bytes: {needs} are needed",
                into.len()
            )));
        }
        loop {
            match sys::socket::receive(self.fd.as_fd(), into, libc::MSG_TRUNC) {
                Ok(bytes) if bytes <= into.len() => return Ok(Some(bytes)),
                Ok(_) => {
                    return Err(failed(
                        "recv",
                        &self.device,
                        io::ErrorKind::InvalidData.into(),
                    ));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("recv", &self.device, error)),
            }
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
