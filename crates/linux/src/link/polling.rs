//! Threaded polling of a device (NAPI).

use std::fs;
use std::io;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::UnshareFlags;

use super::check_name;
use crate::error::naming;
use crate::netns::NetNs;
use crate::sys;

/// Sets whether a thread of its own polls the device, instead of the softirq. The driver must use
/// NAPI: of a veth, the end with an XDP program.
///
/// # Errors
/// `NotFound` if there is no such device; `PermissionDenied` without CAP_SYS_ADMIN, which is needed
/// to mount a sysfs for this call; `Unsupported` if the driver does not poll.
pub fn set_threaded_polling(ns: &NetNs, device: &str, threaded: bool) -> io::Result<()> {
    check_name(device)?;
    ns.run(|| {
        mount_own_sysfs().map_err(naming("mount sysfs", device))?;
        let path = format!("/sys/class/net/{device}/threaded");
        fs::write(path, if threaded { "1" } else { "0" })
            .map_err(naming("write /sys/class/net/DEV/threaded", device))
    })?
}

/// Mounts the sysfs of the calling thread's network namespace over `/sys`, for this thread only. A
/// sysfs shows the devices of the namespace in which it was mounted.
fn mount_own_sysfs() -> rustix::io::Result<()> {
    sys::namespace::unshare(UnshareFlags::NEWNS | UnshareFlags::FS)?;
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )?;
    mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None)
}
