//! What a device is.

use std::io;

use super::MacAddress;
use super::statistics::read_link;
use crate::netns::NetNs;

const UP_WITH_CARRIER: u32 = (libc::IFF_UP | libc::IFF_LOWER_UP) as u32;

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// The kernel's number of it; another device of the same name, made later, has another.
    pub index: u32,
    /// The longest packet in bytes, without the Ethernet header.
    pub mtu_bytes: u32,
    /// What kind of link it is, as `ARPHRD_*` numbers it.
    pub kind: u16,
    /// Its hardware address, where that has six bytes.
    pub mac: Option<MacAddress>,
    /// Whether it is up and has a carrier: what is sent can leave.
    pub is_up: bool,
    /// Whether it takes in frames that are for others: somebody asked for that.
    pub is_promiscuous: bool,
    /// The device that it is a port of (a bridge, a bond).
    pub master: Option<u32>,
    /// The number of the other end of a pair, or of the device that it stands on, if that is in the
    /// same namespace.
    pub other_end: Option<u32>,
}

impl Description {
    /// Whether it carries Ethernet frames. Loopback does not say so.
    pub fn is_ethernet(&self) -> bool {
        self.kind == libc::ARPHRD_ETHER
    }
}

/// Asks the kernel what a device is.
///
/// # Errors
/// `NotFound` (or `ENODEV`) if there is no such device; `InvalidInput` for a name that cannot be.
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
