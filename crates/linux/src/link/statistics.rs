//! A link's counters.

use std::io;

use super::message::{Message, attributes, u16_at, u32_at, u64_at};
use super::request::{link, link_at};
use super::{MacAddress, check_name};
use crate::error::invalid;
use crate::netns::NetNs;

/// `struct ifinfomsg`, which the attributes follow.
const FIXED_BYTES: usize = 16;

/// A request whose end is acknowledged.
const GET: libc::c_int = libc::NLM_F_REQUEST | libc::NLM_F_ACK;

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
    /// Received packets with errors.
    pub rx_errors: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
    /// Packets dropped by the device before they were sent; disciplines have their own counters.
    pub tx_dropped: u64,
}

impl LinkStatistics {
    /// Reads `struct rtnl_link_stats64`, whose first eight fields these are.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let field = |position: usize| u64_at(bytes, position * 8);
        Some(Self {
            rx_packets: field(0)?,
            tx_packets: field(1)?,
            rx_bytes: field(2)?,
            tx_bytes: field(3)?,
            rx_errors: field(4)?,
            tx_errors: field(5)?,
            rx_dropped: field(6)?,
            tx_dropped: field(7)?,
        })
    }
}

/// Reads the counters of a device over netlink, because `/sys` can show another namespace.
///
/// # Errors
/// `NotFound` if there is no such device; `InvalidData` if the response has no counters.
pub fn statistics(ns: &NetNs, device: &str) -> io::Result<LinkStatistics> {
    read_link(ns, device)?
        .statistics
        .ok_or_else(|| no_response(device))
}

/// Attributes of a link.
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) mtu_bytes: u32,
    /// `ARPHRD_*`.
    pub(crate) kind: u16,
    pub(crate) mac: Option<MacAddress>,
    /// `IFF_*`.
    pub(crate) flags: u32,
    /// Number of sockets and other users of promiscuous mode.
    pub(crate) promiscuity: u32,
    /// The device that this one is a port of.
    pub(crate) master: Option<u32>,
    /// The other end in this namespace, or its lower device.
    pub(crate) other_end: Option<u32>,
    /// Maximum length of a GSO packet that the stack builds for it.
    pub(crate) longest_object_bytes: Option<u32>,
    /// The id of an attached XDP program.
    pub(crate) xdp_program: Option<u32>,
    statistics: Option<LinkStatistics>,
}

/// Reads the attributes of a link.
pub(crate) fn read_link(ns: &NetNs, device: &str) -> io::Result<Link> {
    let mut found = None;
    read_link_message(ns, device, |payload| found = parse_link(payload))?;
    found.ok_or_else(|| no_response(device))
}

/// Requests the attributes of a link, and passes the response to `take`.
pub(super) fn read_link_message(
    ns: &NetNs,
    device: &str,
    take: impl FnMut(&[u8]),
) -> io::Result<()> {
    check_name(device)?;
    request_link(ns, device, link(libc::RTM_GETLINK, GET, device), take)
}

/// As [`read_link_message`], of the device with this index.
pub(super) fn read_link_message_at(
    ns: &NetNs,
    index: u32,
    take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let device = format!("device {index}");
    let request = link_at(libc::RTM_GETLINK, GET, index);
    request_link(ns, &device, request, take)
}

fn request_link(
    ns: &NetNs,
    device: &str,
    request: Message,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    ns.request("RTM_GETLINK", device, request, |kind, payload| {
        if kind == libc::RTM_NEWLINK {
            take(payload);
        }
    })
}

fn parse_link(payload: &[u8]) -> Option<Link> {
    let index = u32_at(payload, 4)?;
    let (kind, flags) = (u16_at(payload, 2)?, u32_at(payload, 8)?);
    let (mut mtu_bytes, mut promiscuity, mut statistics) = (0, 0, None);
    let (mut master, mut other_end, mut is_elsewhere) = (None, None, false);
    let (mut mac, mut longest_object_bytes, mut xdp_program) = (None, None, None);
    for (kind, value) in attributes(payload.get(FIXED_BYTES..)?) {
        match kind {
            libc::IFLA_MTU => mtu_bytes = u32_at(value, 0)?,
            libc::IFLA_ADDRESS => mac = value.try_into().ok().map(MacAddress),
            libc::IFLA_PROMISCUITY => promiscuity = u32_at(value, 0)?,
            libc::IFLA_MASTER => master = u32_at(value, 0),
            libc::IFLA_LINK => other_end = u32_at(value, 0),
            libc::IFLA_LINK_NETNSID => is_elsewhere = true,
            libc::IFLA_GSO_MAX_SIZE => longest_object_bytes = u32_at(value, 0),
            libc::IFLA_XDP => xdp_program = xdp_program_id(value),
            libc::IFLA_STATS64 => statistics = LinkStatistics::parse(value),
            _ => {}
        }
    }
    Some(Link {
        index,
        mtu_bytes,
        kind,
        mac,
        flags,
        promiscuity,
        master,
        other_end: other_end.filter(|_| !is_elsewhere),
        longest_object_bytes,
        xdp_program,
        statistics,
    })
}

fn xdp_program_id(value: &[u8]) -> Option<u32> {
    /// `IFLA_XDP_PROG_ID`; not in libc.
    const PROGRAM_ID: u16 = 4;
    let (_, id) = attributes(value).find(|&(kind, _)| kind == PROGRAM_ID)?;
    u32_at(id, 0)
}

fn no_response(device: &str) -> io::Error {
    invalid(format!(
        "RTM_GETLINK {device}: the kernel's response is incomplete"
    ))
}
