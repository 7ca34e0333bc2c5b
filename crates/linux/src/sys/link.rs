//! What a socket may hear and ask about a device without waiting for anybody.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// An `ifreq` about the device `name`.
fn request_about(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain old data for which all zeroes is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let places = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (to, from) in places.zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// The MTU of the device `name` in bytes, in the namespace of the socket `fd`.
pub(crate) fn mtu(fd: BorrowedFd<'_>, name: &str) -> io::Result<libc::c_int> {
    let mut request = request_about(name);
    // SAFETY: SIOCGIFMTU reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: the call succeeded, so the MTU is what the kernel wrote.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

/// The flags of the device `name` (`IFF_*`, the lower 16 bits), in the namespace of the socket `fd`.
pub(crate) fn flags(fd: BorrowedFd<'_>, name: &str) -> io::Result<u16> {
    let mut request = request_about(name);
    // SAFETY: SIOCGIFFLAGS reads and writes one `ifreq`, which `request` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) })?;
    // SAFETY: the call succeeded, so the flags are what the kernel wrote.
    Ok(unsafe { request.ifr_ifru.ifru_flags } as u16)
}

/// Lets a netlink socket hear what the kernel says to `groups`, a set of bits.
pub(crate) fn listen(fd: BorrowedFd<'_>, groups: u32) -> io::Result<()> {
    // SAFETY: `sockaddr_nl` is plain old data for which all zeroes is valid.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = groups;
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    check(unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_nl>() as libc::socklen_t,
        )
    })
    .map(drop)
}
