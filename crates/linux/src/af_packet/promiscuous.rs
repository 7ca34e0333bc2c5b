//! Having a device take in what is for others.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::SocketFlags;

use crate::error::failed;
use crate::link;
use crate::netns::NetNs;
use crate::sys;

/// A device takes in every frame for as long as this lives, also what is for other hosts. Nothing
/// is received here: it is for who receives otherwise, by [AF_XDP](crate::af_xdp::AfXdpReceiver). A
/// [`PacketReceiver`](super::PacketReceiver) has [its own way](super::PacketReceiver::set_promiscuous).
#[derive(Debug)]
pub struct Promiscuous {
    _fd: OwnedFd,
}

impl Promiscuous {
    /// Begins.
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
