//! Properties and counters of a device.

use std::io;

use super::message::{ACKNOWLEDGED, attribute, link, link_at, u16_at, u32_at, u64_at};
use super::{MacAddress, check_name};
use crate::error::invalid;
use crate::netns::NetNs;

/// `struct ifinfomsg`, which the attributes follow.
const FIXED_BYTES: usize = 16;

/// `IFLA_XDP_PROG_ID`; not in libc.
const XDP_PROGRAM_ID: u16 = 4;

const UP_WITH_CARRIER: u32 = (libc::IFF_UP | libc::IFF_LOWER_UP) as u32;

/// Properties of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Maximum length of a GSO packet that the stack builds for it.
    pub(crate) longest_object_bytes: Option<u32>,
    /// The id of an attached XDP program.
    pub(crate) xdp_program: Option<u32>,
    statistics: Option<LinkStatistics>,
}

/// Counters of a link since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped by the device before they were sent; disciplines have their own counters.
    pub tx_dropped: u64,
}

impl LinkStatistics {
    /// Reads fields of `struct rtnl_link_stats64`.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let field = |position: usize| u64_at(bytes, position * 8);
        Some(Self {
            rx_packets: field(0)?,
            tx_packets: field(1)?,
            rx_bytes: field(2)?,
            tx_bytes: field(3)?,
            tx_dropped: field(7)?,
        })
    }
}

impl Description {
    /// Returns `true` if it carries Ethernet frames. Loopback reports `false`.
    pub fn is_ethernet(&self) -> bool {
        self.kind == libc::ARPHRD_ETHER
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let all = payload.get(FIXED_BYTES..)?;
        let word = |kind| u32_at(attribute(all, kind)?, 0);
        // 0 without the attribute; the outer `None` is a malformed one.
        let word_or_0 = |kind| attribute(all, kind).map_or(Some(0), |it| u32_at(it, 0));
        let index = u32_at(payload, 4)?;
        // The other end is the device itself if there is none.
        let is_elsewhere = attribute(all, libc::IFLA_LINK_NETNSID).is_some();
        let other_end = word(libc::IFLA_LINK).filter(|&it| !is_elsewhere && it != index);
        let mac = attribute(all, libc::IFLA_ADDRESS).and_then(|it| it.try_into().ok());
        let xdp = attribute(all, libc::IFLA_XDP);
        let xdp_program = xdp.and_then(|it| attribute(it, XDP_PROGRAM_ID));
        Some(Self {
            index,
            mtu_bytes: word_or_0(libc::IFLA_MTU)?,
            kind: u16_at(payload, 2)?,
            mac: mac.map(MacAddress),
            is_up: u32_at(payload, 8)? & UP_WITH_CARRIER == UP_WITH_CARRIER,
            // The number of users of this mode.
            is_promiscuous: word_or_0(libc::IFLA_PROMISCUITY)? > 0,
            master: word(libc::IFLA_MASTER),
            other_end,
            longest_object_bytes: word(libc::IFLA_GSO_MAX_SIZE),
            xdp_program: xdp_program.and_then(|it| u32_at(it, 0)),
            statistics: attribute(all, libc::IFLA_STATS64).and_then(LinkStatistics::parse),
        })
    }
}

/// Reads the properties of a device from the kernel.
///
/// # Errors
/// `NotFound` (or `ENODEV`) if there is no such device; `InvalidInput` for an invalid name.
pub fn describe(ns: &NetNs, device: &str) -> io::Result<Description> {
    let mut found = None;
    read_link_message(ns, device, 0, |payload| found = Description::parse(payload))?;
    found.ok_or_else(|| no_response(device))
}

/// Reads the counters of a device over netlink, because `/sys` can show another namespace.
///
/// # Errors
/// `NotFound` if the device does not exist; `InvalidData` if the response has no counters.
pub fn statistics(ns: &NetNs, device: &str) -> io::Result<LinkStatistics> {
    let found = describe(ns, device)?.statistics;
    found.ok_or_else(|| no_response(device))
}

/// Requests the attributes of the link with this index, or of that name if the index is 0, and
/// passes the response to `take`.
pub(super) fn read_link_message(
    ns: &NetNs,
    device: &str,
    index: u32,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let request = match index {
        0 => {
            check_name(device)?;
            link(libc::RTM_GETLINK, ACKNOWLEDGED, device)
        }
        index => link_at(libc::RTM_GETLINK, ACKNOWLEDGED, index),
    };
    ns.request("RTM_GETLINK", device, request, |kind, payload| {
        if kind == libc::RTM_NEWLINK {
            take(payload);
        }
    })
}

fn no_response(device: &str) -> io::Error {
    invalid(format!(
        "RTM_GETLINK {device}: the kernel's response is incomplete"
    ))
}
