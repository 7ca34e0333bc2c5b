//! Creating virtual devices. Each is down.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::change::{CHANGE, change, index};
use super::check_name;
use super::message::{Message, link, link_fixed};
use crate::error::invalid;
use crate::netns::NetNs;

/// `IFLA_MACVLAN_MODE`, and its value for devices that can reach each other.
const MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_BRIDGE: u32 = 4;
/// The only attribute of a veth (`VETH_INFO_PEER`): the other end, as a nested request.
const VETH_PEER: u16 = 1;

/// Creates a device; `fill` adds attributes to the request, and `describe` those of its kind.
fn create(
    ns: &NetNs,
    name: &str,
    kind: &str,
    fill: impl FnOnce(Message) -> Message,
    describe: impl FnOnce(Message) -> Message,
) -> io::Result<()> {
    check_name(name)?;
    let flags = CHANGE | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let request = fill(link(libc::RTM_NEWLINK, flags, name));
    let request = request.nested(libc::IFLA_LINKINFO, |info| {
        let info = info.text(libc::IFLA_INFO_KIND, kind);
        info.nested(libc::IFLA_INFO_DATA, describe)
    });
    change(ns, "RTM_NEWLINK", name, request)
}

/// Creates a bridge of the kernel, without ports.
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
        return Err(invalid(
            "queues of the veth is 0; allowed: 1 or more".to_owned(),
        ));
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
