//! Packet sockets without a ring: sending single frames, as the host's own stack does, and
//! promiscuous mode.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};

use crate::error::failed;
use crate::link;
use crate::netns::NetNs;
use crate::sys;

/// Opens a packet socket in `ns` for `device`, with `flags` of its type. Its protocol is 0 until it
/// is bound, so that it receives no frames of other devices.
pub(super) fn open_socket(ns: &NetNs, device: &str, flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    ns.run(|| socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None))?
        .map_err(|cause| failed("socket AF_PACKET", device, cause))
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
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        let index = link::index(ns, device)?;
        let named = |call| move |cause| failed(call, device, cause);
        let fd = open_socket(ns, device, SocketFlags::empty())?;
        sys::socket::set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)
            .map_err(named("PACKET_VNET_HDR"))?;
        sys::packet::bind(fd.as_fd(), index, 0).map_err(named("bind"))?;
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
            .map_err(|cause| failed("send", &self.device, cause))
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
        sys::packet::add_promiscuous(fd.as_fd(), index)
            .map_err(|cause| failed("PACKET_ADD_MEMBERSHIP", device, cause))?;
        Ok(Self { _fd: fd })
    }
}
