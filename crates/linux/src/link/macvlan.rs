//! Macvlan devices: on top of another device, each with its own address.

use std::io;

use super::change::{CHANGE, change, index};
use super::check_name;
use super::message::Message;
use super::request::link_fixed;
use crate::netns::NetNs;

/// `IFLA_MACVLAN_MODE`, and its value for devices that can reach each other.
const MODE: u16 = 1;
const MODE_BRIDGE: u32 = 4;

/// Creates a macvlan `name` on top of `lower`: its packets pass through the discipline of `lower`.
/// It is down.
///
/// # Errors
/// `NotFound` if `lower` does not exist; `AlreadyExists` if the name is in use; `PermissionDenied`
/// without CAP_NET_ADMIN; `Unsupported` if the kernel has no macvlan.
pub fn add_macvlan(ns: &NetNs, name: &str, lower: &str) -> io::Result<()> {
    check_name(name)?;
    let lower = index(ns, lower)?;
    let flags = CHANGE | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let request = Message::new(libc::RTM_NEWLINK, flags as u16, &link_fixed(0, 0))
        .text(libc::IFLA_IFNAME, name)
        .attribute(libc::IFLA_LINK, &lower.to_ne_bytes())
        .nested(libc::IFLA_LINKINFO, |info| {
            info.text(libc::IFLA_INFO_KIND, "macvlan")
                .nested(libc::IFLA_INFO_DATA, |data| {
                    data.attribute(MODE, &MODE_BRIDGE.to_ne_bytes())
                })
        });
    change(ns, "RTM_NEWLINK", name, request)
}
