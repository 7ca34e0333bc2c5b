//! The ioctls of a device's MTU and flags. They do not block.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{check, ifreq};

/// Returns the MTU of the device `name` in bytes, in the namespace of the socket `fd`.
pub(crate) fn mtu(fd: BorrowedFd<'_>, name: &str) -> io::Result<libc::c_int> {
    let mut request = ifreq::for_device(name);
    // SAFETY: SIOCGIFMTU reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: the call succeeded, so the kernel has written the MTU.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

/// Returns the flags of the device `name` (`IFF_*`, the lower 16 bits), in the namespace of the
/// socket `fd`.
pub(crate) fn flags(fd: BorrowedFd<'_>, name: &str) -> io::Result<u16> {
    let mut request = ifreq::for_device(name);
    // SAFETY: SIOCGIFFLAGS reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) })?;
    // SAFETY: the call succeeded, so the kernel has written the flags.
    Ok(unsafe { request.ifr_ifru.ifru_flags } as u16)
}
