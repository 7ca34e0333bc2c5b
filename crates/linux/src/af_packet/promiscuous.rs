//! Promiscuous mode.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::SocketFlags;

use crate::error::failed;
use crate::link;
use crate::netns::NetNs;
use crate::sys;

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
        let fd = super::open_socket(ns, device, SocketFlags::empty())?;
        sys::packet::add_promiscuous(fd.as_fd(), index)
            .map_err(|cause| failed("PACKET_ADD_MEMBERSHIP", device, cause))?;
        Ok(Self { _fd: fd })
    }
}
