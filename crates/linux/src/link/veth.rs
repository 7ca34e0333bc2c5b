//! Pairs of virtual Ethernet devices.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::change::{CHANGE, change};
use super::check_name;
use super::message::Message;
use super::request::{link, link_fixed};
use crate::error::invalid;
use crate::netns::NetNs;

/// The only attribute of a veth (`VETH_INFO_PEER`): the other end, as a nested request.
const VETH_PEER: u16 = 1;

/// Creates a pair of virtual Ethernet devices with one queue each: `name` in `ns` and `peer_name`
/// in `peer_ns` (which can be the same). Both are down and have random hardware addresses.
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
    check_name(name)?;
    check_name(peer_name)?;
    let place = peer_ns.as_fd().as_raw_fd().to_ne_bytes();
    let flags = CHANGE | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let request = with_queues(link(libc::RTM_NEWLINK, flags, name), queues).nested(
        libc::IFLA_LINKINFO,
        |info| {
            info.text(libc::IFLA_INFO_KIND, "veth")
                .nested(libc::IFLA_INFO_DATA, |data| {
                    data.nested(VETH_PEER, |peer| {
                        with_queues(
                            peer.raw(&link_fixed(0, 0))
                                .text(libc::IFLA_IFNAME, peer_name),
                            queues,
                        )
                        .attribute(libc::IFLA_NET_NS_FD, &place)
                    })
                })
        },
    );
    change(ns, "RTM_NEWLINK", name, request)
}

/// Adds the number of queues in each direction. By default the kernel creates one for each CPU, and
/// measurements then depend on the CPU of the sender.
fn with_queues(request: Message, queues: u32) -> Message {
    let queues = queues.to_ne_bytes();
    request
        .attribute(libc::IFLA_NUM_TX_QUEUES, &queues)
        .attribute(libc::IFLA_NUM_RX_QUEUES, &queues)
}
