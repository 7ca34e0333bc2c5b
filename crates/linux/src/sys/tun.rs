//! The ioctls of `/dev/net/tun`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{check, ifreq};

/// Attaches an open `/dev/net/tun` to the device `name`, which is created if it does not exist.
///
/// `name` is truncated to the kernel's field (15 bytes and a zero).
pub(crate) fn attach(fd: BorrowedFd<'_>, name: &str, flags: libc::c_int) -> io::Result<()> {
    let mut request = ifreq::for_device(name);
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) }).map(drop)
}

/// Returns the flags that the kernel supports (`TUNGETFEATURES`).
pub(crate) fn features(fd: BorrowedFd<'_>) -> io::Result<libc::c_uint> {
    let mut flags: libc::c_uint = 0;
    // SAFETY: TUNGETFEATURES writes one `unsigned int`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNGETFEATURES as _, &raw mut flags) })?;
    Ok(flags)
}

/// Sets the offloads that the reader of the device supports (`TUN_F_*`).
pub(crate) fn set_offload(fd: BorrowedFd<'_>, offloads: libc::c_uint) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    check(unsafe {
        libc::ioctl(
            fd.as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            libc::c_ulong::from(offloads),
        )
    })
    .map(drop)
}

/// Sets the length of the virtio-net header before each frame.
pub(crate) fn set_vnet_header_bytes(fd: BorrowedFd<'_>, bytes: libc::c_int) -> io::Result<()> {
    // SAFETY: TUNSETVNETHDRSZ reads one `int`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETVNETHDRSZ as _, &raw const bytes) })
        .map(drop)
}
