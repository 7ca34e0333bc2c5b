//! Sending single frames, as the host's own stack does.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{SendFlags, SocketFlags, send};

use crate::error::failed;
use crate::link;
use crate::netns::NetNs;
use crate::sys;

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
        let fd = super::open_socket(ns, device, SocketFlags::empty())?;
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
