//! Options and levels of a socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::check;

/// Returns the memory of sent datagrams that was not freed yet (`SIOCOUTQ`). It exceeds the
/// datagrams themselves: 2,304 for one of 1,400. It is 0 where no layer below keeps the owner of
/// packets: loopback, a TAP, beyond a container's link.
pub(crate) fn send_queue_bytes(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (the number of TIOCOUTQ) writes one `int`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(u32::try_from(bytes).unwrap_or(0))
}

/// Returns `true` for a datagram socket of IPv4 or IPv6.
pub(crate) fn is_udp(fd: BorrowedFd<'_>) -> bool {
    let is_internet = |domain| domain == AddressFamily::INET || domain == AddressFamily::INET6;
    sockopt::socket_type(fd).is_ok_and(|kind| kind == SocketType::DGRAM)
        && sockopt::socket_domain(fd).is_ok_and(is_internet)
}

/// Sets an option that is an `int`.
pub(crate) fn set_option(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which outlives the call.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Reads an option that is, or begins with, an `int`.
pub(crate) fn option(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<libc::c_int> {
    let mut value = [0 as libc::c_int; 4];
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which is borrowed exclusively.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value[0])
}
