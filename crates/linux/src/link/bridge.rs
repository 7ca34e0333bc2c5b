//! The kernel's own bridge.

use std::io;

use super::change::{CHANGE, change, index};
use super::check_name;
use super::message::Message;
use super::request::{link, link_fixed};
use crate::netns::NetNs;

/// Creates a bridge without ports. It is down.
///
/// # Errors
/// `AlreadyExists` if the name is in use; `PermissionDenied` without CAP_NET_ADMIN; `Unsupported`
/// if the kernel has no bridge.
pub fn add_bridge(ns: &NetNs, name: &str) -> io::Result<()> {
    check_name(name)?;
    let flags = CHANGE | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let request = Message::new(libc::RTM_NEWLINK, flags as u16, &link_fixed(0, 0))
        .text(libc::IFLA_IFNAME, name)
        .nested(libc::IFLA_LINKINFO, |info| {
            info.text(libc::IFLA_INFO_KIND, "bridge")
        });
    change(ns, "RTM_NEWLINK", name, request)
}

/// Makes `device` a port of `bridge`.
///
/// # Errors
/// `NotFound` if one of them does not exist; `PermissionDenied` without CAP_NET_ADMIN.
pub fn add_to_bridge(ns: &NetNs, bridge: &str, device: &str) -> io::Result<()> {
    check_name(device)?;
    let master = index(ns, bridge)?;
    let request =
        link(libc::RTM_NEWLINK, CHANGE, device).attribute(libc::IFLA_MASTER, &master.to_ne_bytes());
    change(ns, "RTM_NEWLINK", device, request)
}
