//! The ioctls of a device's name, MTU and flags. They do not block.

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

/// Returns the name of the device `index`, in the namespace of the socket `fd`.
pub(crate) fn name(fd: BorrowedFd<'_>, index: u32) -> io::Result<String> {
    let mut request = ifreq::for_device("");
    request.ifr_ifru.ifru_ifindex = index as libc::c_int;
    // SAFETY: SIOCGIFNAME reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFNAME as _, &raw mut request) })?;
    let bytes = request.ifr_name.iter().map(|&byte| byte as u8);
    let name = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8(name).map_err(|_| io::ErrorKind::InvalidData.into())
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
