//! Threaded polling of a device (NAPI).

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use super::check_name;
use crate::error::naming;
use crate::netns::NetNs;

/// Sets whether a thread of its own polls the device, instead of the softirq. The driver must use
/// NAPI: of a veth, the end with an XDP program.
///
/// # Errors
/// `NotFound` if there is no such device; `PermissionDenied` without CAP_SYS_ADMIN, which is needed
/// to mount a sysfs for this call; `Unsupported` if the driver does not poll.
pub fn set_threaded_polling(ns: &NetNs, device: &str, threaded: bool) -> io::Result<()> {
    check_name(device)?;
    let sysfs = ns.mount_sysfs()?;
    let root = format!("/proc/self/fd/{}", sysfs.as_raw_fd());
    let path = format!("{root}/class/net/{device}/threaded");
    fs::write(path, if threaded { "1" } else { "0" })
        .map_err(naming("write /sys/class/net/DEV/threaded", device))
}
