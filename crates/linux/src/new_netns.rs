//! Creating a network namespace, which needs both namespaces and links.

use std::fs;
use std::io;

use rustix::thread::UnshareFlags;

use crate::error::Context;
use crate::link;
use crate::netns::{NetNs, in_short_thread};
use crate::sys;

impl NetNs {
    /// Creates an empty namespace with its loopback up and IPv6 off.
    ///
    /// IPv6 is off because its unsolicited packets (neighbour and router solicitations) would
    /// disturb the measured queues. Ignored if the kernel has no IPv6, or `/proc/sys` is read-only.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_SYS_ADMIN; see [`ensure_privilege`](crate::ensure_privilege).
    pub fn new() -> io::Result<Self> {
        let made = in_short_thread(|| {
            sys::thread::unshare(UnshareFlags::NEWNET).context("unshare", "network namespace")?;
            turn_off_ipv6();
            Self::current()
        })??;
        link::set_up(&made, "lo")?;
        Ok(made)
    }
}

fn turn_off_ipv6() {
    for of in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6");
        // Best effort, see `NetNs::new`.
        let _ = fs::write(path, "1");
    }
}
