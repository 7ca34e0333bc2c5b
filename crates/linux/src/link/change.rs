//! Changing one link.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

use super::message::{Message, link, link_at, link_fixed};
use super::{MacAddress, check_name, describe};
use crate::error::invalid;
use crate::netns::NetNs;

/// Every change requests an acknowledgement, so that its error is returned.
pub(super) const CHANGE: libc::c_int = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
/// Creates the object, or replaces an existing one.
pub(super) const SET: libc::c_int = CHANGE | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;

/// Sends a change of `device`. An error names both.
pub(super) fn change(
    ns: &NetNs,
    call: &'static str,
    device: &str,
    request: Message,
) -> io::Result<()> {
    ns.request(call, device, request, |_, _| {})
}

/// Sets the device up.
///
/// # Errors
/// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_ADMIN. The same is
/// true of all changes of a link.
pub fn set_up(ns: &NetNs, device: &str) -> io::Result<()> {
    set_flags(ns, device, libc::IFF_UP)
}

/// Sets the device down. Packets queued in its discipline are dropped.
///
/// # Errors
/// As for [`set_up`].
pub fn set_down(ns: &NetNs, device: &str) -> io::Result<()> {
    set_flags(ns, device, 0)
}

fn set_flags(ns: &NetNs, device: &str, flags: libc::c_int) -> io::Result<()> {
    check_name(device)?;
    let request = Message::new(
        libc::RTM_NEWLINK,
        CHANGE as u16,
        &link_fixed(flags, libc::IFF_UP),
    )
    .text(libc::IFLA_IFNAME, device);
    change(ns, "RTM_NEWLINK", device, request)
}

/// Deletes the device; a veth with its other end.
///
/// # Errors
/// As for [`set_up`]; `Unsupported` for a device that cannot be deleted.
pub fn delete(ns: &NetNs, device: &str) -> io::Result<()> {
    check_name(device)?;
    let request = link(libc::RTM_DELLINK, CHANGE, device);
    change(ns, "RTM_DELLINK", device, request)
}

/// Renames the device, also while it is up (Linux 6.2).
///
/// # Errors
/// As for [`set_up`]; `AlreadyExists` if the name is in use.
pub fn rename(ns: &NetNs, device: &str, name: &str) -> io::Result<()> {
    check_name(name)?;
    let index = index(ns, device)?;
    let request = link_at(libc::RTM_NEWLINK, CHANGE, index).text(libc::IFLA_IFNAME, name);
    change(ns, "RTM_NEWLINK", device, request)
}

/// Moves the device to another network namespace. It is down there, with the same name.
///
/// # Errors
/// As for [`set_up`]; `AlreadyExists` if the name is in use there.
pub fn set_namespace(ns: &NetNs, device: &str, namespace: &NetNs) -> io::Result<()> {
    let fd = namespace.as_fd().as_raw_fd().to_ne_bytes();
    set_attribute(ns, device, libc::IFLA_NET_NS_FD, &fd)
}

/// Sets the MTU in bytes, without the Ethernet header.
///
/// # Errors
/// As for [`set_up`]; `InvalidInput` if the device does not support it.
pub fn set_mtu(ns: &NetNs, device: &str, mtu_bytes: u32) -> io::Result<()> {
    set_attribute(ns, device, libc::IFLA_MTU, &mtu_bytes.to_ne_bytes())
}

/// Sets the hardware address.
///
/// # Errors
/// As for [`set_up`]; some devices must be down.
pub fn set_mac(ns: &NetNs, device: &str, mac: MacAddress) -> io::Result<()> {
    set_attribute(ns, device, libc::IFLA_ADDRESS, &mac.0)
}

/// Sets the queue length of the device's default discipline, or of a TAP, in packets.
///
/// # Errors
/// As for [`set_up`].
pub fn set_tx_queue_packets(ns: &NetNs, device: &str, packets: u32) -> io::Result<()> {
    set_attribute(ns, device, libc::IFLA_TXQLEN, &packets.to_ne_bytes())
}

/// Makes `device` a port of `bridge`.
///
/// # Errors
/// As for [`set_up`]; `NotFound` if one of them does not exist.
pub fn add_to_bridge(ns: &NetNs, bridge: &str, device: &str) -> io::Result<()> {
    let master = index(ns, bridge)?;
    set_attribute(ns, device, libc::IFLA_MASTER, &master.to_ne_bytes())
}

fn set_attribute(ns: &NetNs, device: &str, kind: u16, value: &[u8]) -> io::Result<()> {
    check_name(device)?;
    let request = link(libc::RTM_NEWLINK, CHANGE, device).attribute(kind, value);
    change(ns, "RTM_NEWLINK", device, request)
}

/// Adds an IPv4 address with a prefix of `prefix_bits` (0..=32) to the device. No error if it
/// exists already.
///
/// # Errors
/// As for [`set_up`]; `InvalidInput` if `prefix_bits` is out of range.
pub fn add_address(ns: &NetNs, device: &str, address: Ipv4Addr, prefix_bits: u8) -> io::Result<()> {
    if prefix_bits > 32 {
        return Err(invalid(format!(
            "prefix_bits is {prefix_bits}; allowed: 0 to 32"
        )));
    }
    let index = index(ns, device)?;
    // `struct ifaddrmsg`.
    let [a, b, c, d] = index.to_ne_bytes();
    let fixed = [libc::AF_INET as u8, prefix_bits, 0, 0, a, b, c, d];
    let request = Message::new(libc::RTM_NEWADDR, SET as u16, &fixed)
        .attribute(libc::IFA_LOCAL, &address.octets())
        .attribute(libc::IFA_ADDRESS, &address.octets());
    change(ns, "RTM_NEWADDR", device, request)
}

/// Adds a permanent neighbour entry for `address`, so that no ARP request is lost in a full queue.
///
/// # Errors
/// As for [`set_up`].
pub fn add_neighbour(
    ns: &NetNs,
    device: &str,
    address: Ipv4Addr,
    mac: MacAddress,
) -> io::Result<()> {
    let index = index(ns, device)?;
    // `struct ndmsg`.
    let ([a, b, c, d], [e, f]) = (index.to_ne_bytes(), libc::NUD_PERMANENT.to_ne_bytes());
    let fixed = [libc::AF_INET as u8, 0, 0, 0, a, b, c, d, e, f, 0, 0];
    let request = Message::new(libc::RTM_NEWNEIGH, SET as u16, &fixed)
        .attribute(libc::NDA_DST, &address.octets())
        .attribute(libc::NDA_LLADDR, &mac.0);
    change(ns, "RTM_NEWNEIGH", device, request)
}

/// Returns the index of the device.
///
/// # Errors
/// `NotFound` if there is no such device.
pub fn index(ns: &NetNs, device: &str) -> io::Result<u32> {
    describe(ns, device).map(|link| link.index)
}
