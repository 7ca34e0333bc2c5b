//! Creating and changing links.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

use super::message::{ACKNOWLEDGED, Message, SET, link, link_at, link_fixed};
use super::{MacAddress, check_name, describe};
use crate::error::{check_range, invalid};
use crate::netns::NetNs;

/// `IFLA_MACVLAN_MODE`, and its value for devices that can reach each other.
const MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_BRIDGE: u32 = 4;
/// The only attribute of a veth (`VETH_INFO_PEER`): the other end, as a nested request.
const VETH_PEER: u16 = 1;

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
    let fixed = link_fixed(flags, libc::IFF_UP);
    let request =
        Message::new(libc::RTM_NEWLINK, ACKNOWLEDGED, &fixed).text(libc::IFLA_IFNAME, device);
    change(ns, "RTM_NEWLINK", device, request)
}

/// Deletes the device; a veth with its other end.
///
/// # Errors
/// As for [`set_up`]; `Unsupported` for a device that cannot be deleted.
pub fn delete(ns: &NetNs, device: &str) -> io::Result<()> {
    check_name(device)?;
    let request = link(libc::RTM_DELLINK, ACKNOWLEDGED, device);
    change(ns, "RTM_DELLINK", device, request)
}

/// Renames the device, also while it is up (Linux 6.2).
///
/// # Errors
/// As for [`set_up`]; `AlreadyExists` if the name is in use.
pub fn rename(ns: &NetNs, device: &str, name: &str) -> io::Result<()> {
    check_name(name)?;
    let index = index(ns, device)?;
    let request = link_at(libc::RTM_NEWLINK, ACKNOWLEDGED, index).text(libc::IFLA_IFNAME, name);
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
    let request = link(libc::RTM_NEWLINK, ACKNOWLEDGED, device).attribute(kind, value);
    change(ns, "RTM_NEWLINK", device, request)
}

/// Adds an IPv4 address with a prefix of `prefix_bits` (0..=32) to the device. No error if it
/// exists already.
///
/// # Errors
/// As for [`set_up`]; `InvalidInput` if `prefix_bits` is out of range.
pub fn add_address(ns: &NetNs, device: &str, address: Ipv4Addr, prefix_bits: u8) -> io::Result<()> {
    check_range("prefix_bits", prefix_bits.into(), 0..=32)?;
    let index = index(ns, device)?;
    // `struct ifaddrmsg`.
    let [a, b, c, d] = index.to_ne_bytes();
    let fixed = [libc::AF_INET as u8, prefix_bits, 0, 0, a, b, c, d];
    let request = Message::new(libc::RTM_NEWADDR, SET, &fixed)
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
    let request = Message::new(libc::RTM_NEWNEIGH, SET, &fixed)
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

/// Creates a device; `fill` adds attributes to the request, and `describe` those of its kind.
fn create(
    ns: &NetNs,
    name: &str,
    kind: &str,
    fill: impl FnOnce(Message) -> Message,
    describe: impl FnOnce(Message) -> Message,
) -> io::Result<()> {
    check_name(name)?;
    let flags = ACKNOWLEDGED | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let request = fill(link(libc::RTM_NEWLINK, flags, name));
    let request = request.nested(libc::IFLA_LINKINFO, |info| {
        let info = info.text(libc::IFLA_INFO_KIND, kind);
        info.nested(libc::IFLA_INFO_DATA, describe)
    });
    change(ns, "RTM_NEWLINK", name, request)
}

/// Creates a bridge of the kernel, without ports. It is down, like all new devices.
///
/// # Errors
/// `AlreadyExists` if the name is in use; `PermissionDenied` without CAP_NET_ADMIN; `Unsupported`
/// if the kernel has no bridge.
pub fn add_bridge(ns: &NetNs, name: &str) -> io::Result<()> {
    create(ns, name, "bridge", |request| request, |data| data)
}

/// Creates a macvlan `name` on top of `lower`, with an address of its own: its packets pass through
/// the discipline of `lower`.
///
/// # Errors
/// `NotFound` if `lower` does not exist; `AlreadyExists` if the name is in use; `PermissionDenied`
/// without CAP_NET_ADMIN; `Unsupported` if the kernel has no macvlan.
pub fn add_macvlan(ns: &NetNs, name: &str, lower: &str) -> io::Result<()> {
    let lower = index(ns, lower)?.to_ne_bytes();
    let mode = MACVLAN_MODE_BRIDGE.to_ne_bytes();
    create(
        ns,
        name,
        "macvlan",
        |request| request.attribute(libc::IFLA_LINK, &lower),
        |data| data.attribute(MACVLAN_MODE, &mode),
    )
}

/// Creates a pair of virtual Ethernet devices with one queue each: `name` in `ns` and `peer_name`
/// in `peer_ns` (which can be the same). Both have random hardware addresses.
///
/// # Errors
/// `AlreadyExists` if a name is in use; `PermissionDenied` without CAP_NET_ADMIN in both.
pub fn add_veth_pair(ns: &NetNs, name: &str, peer_ns: &NetNs, peer_name: &str) -> io::Result<()> {
    add_veth_pair_with_queues(ns, name, peer_ns, peer_name, 1)
}

/// As [`add_veth_pair`], with `queues` in each direction on both ends, at least 1. With several
/// queues, the CPU of the sender selects the queue of a packet.
///
/// # Errors
/// As for [`add_veth_pair`]; `InvalidInput` for no queue, or more than the kernel allows (4096).
pub fn add_veth_pair_with_queues(
    ns: &NetNs,
    name: &str,
    peer_ns: &NetNs,
    peer_name: &str,
    queues: u32,
) -> io::Result<()> {
    if queues == 0 {
        return Err(invalid("queues of the veth is 0; allowed: 1 or more"));
    }
    check_name(peer_name)?;
    let place = peer_ns.as_fd().as_raw_fd().to_ne_bytes();
    // By default the kernel creates a queue for each CPU, and measurements then depend on the CPU
    // of the sender.
    let queues = queues.to_ne_bytes();
    let with_queues = |request: Message| {
        request
            .attribute(libc::IFLA_NUM_TX_QUEUES, &queues)
            .attribute(libc::IFLA_NUM_RX_QUEUES, &queues)
    };
    let peer = |peer: Message| {
        let peer = peer.raw(&link_fixed(0, 0));
        with_queues(peer.text(libc::IFLA_IFNAME, peer_name)).attribute(libc::IFLA_NET_NS_FD, &place)
    };
    create(ns, name, "veth", with_queues, |data| {
        data.nested(VETH_PEER, peer)
    })
}
