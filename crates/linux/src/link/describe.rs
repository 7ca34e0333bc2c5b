//! Properties of a device.

use std::io;

use super::MacAddress;
use super::statistics::read_link;
use crate::netns::NetNs;

const UP_WITH_CARRIER: u32 = (libc::IFF_UP | libc::IFF_LOWER_UP) as u32;

/// Properties of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// Its index. A device that is recreated under the same name has another one.
    pub index: u32,
    /// The MTU in bytes, without the Ethernet header.
    pub mtu_bytes: u32,
    /// The link type (`ARPHRD_*`).
    pub kind: u16,
    /// Its hardware address, if that has six bytes.
    pub mac: Option<MacAddress>,
    /// It is up and has a carrier, so packets can be sent.
    pub is_up: bool,
    /// It is in promiscuous mode, and receives frames for other hosts.
    pub is_promiscuous: bool,
    /// The device that it is a port of (a bridge, a bond).
    pub master: Option<u32>,
    /// The index of the other end of a pair, or of its lower device, if that is in the same
    /// namespace.
    pub other_end: Option<u32>,
}

impl Description {
    /// Returns `true` if it carries Ethernet frames. Loopback reports `false`.
    pub fn is_ethernet(&self) -> bool {
        self.kind == libc::ARPHRD_ETHER
    }
}

/// Reads the properties of a device from the kernel.
///
/// # Errors
/// `NotFound` (or `ENODEV`) if there is no such device; `InvalidInput` for an invalid name.
pub fn describe(ns: &NetNs, device: &str) -> io::Result<Description> {
    let link = read_link(ns, device)?;
    Ok(Description {
        index: link.index,
        mtu_bytes: link.mtu_bytes,
        kind: link.kind,
        mac: link.mac,
        is_up: link.flags & UP_WITH_CARRIER == UP_WITH_CARRIER,
        is_promiscuous: link.promiscuity > 0,
        master: link.master,
        other_end: link.other_end.filter(|&other| other != link.index),
    })
}
