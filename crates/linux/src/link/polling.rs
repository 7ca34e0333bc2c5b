//! Who polls a device.

use std::fs;
use std::io;

use super::check_name;
use crate::error::failed;
use crate::netns::NetNs;
use crate::sys;

/// Whether the device is polled by a thread of its own, or in passing by whoever has something for it.
/// Its driver must poll: of a veth, the end that has an XDP program.
///
/// # Errors
/// `NotFound` if there is no such device; `PermissionDenied` without CAP_SYS_ADMIN, which the view of
/// its settings (a sysfs of its own, gone with the call) takes; `Unsupported` if the driver does not
/// poll.
pub fn set_threaded_polling(ns: &NetNs, device: &str, threaded: bool) -> io::Result<()> {
    check_name(device)?;
    let named = |call| move |cause| failed(call, device, cause);
    ns.run(|| {
        // /sys shows the devices of the namespace in which it was mounted.
        sys::namespace::unshare_mounts().map_err(named("unshare mounts"))?;
        sys::namespace::mount_sysfs().map_err(named("mount sysfs"))?;
        let path = format!("/sys/class/net/{device}/threaded");
        fs::write(path, if threaded { "1" } else { "0" }).map_err(named("write threaded"))
    })?
}
