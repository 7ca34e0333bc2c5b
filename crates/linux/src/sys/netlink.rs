//! A route netlink socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{check, check_bytes};

/// Opens a route netlink socket in the calling thread's network namespace.
///
/// Errors of the kernel then come with its own sentence where it has one, and without a copy of
/// the request.
pub(crate) fn open() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe {
        libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        )
    })?;
    // SAFETY: the kernel just gave us this descriptor and nobody else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        let on: libc::c_int = 1;
        // SAFETY: the pointer and length describe `on`, which outlives the call.
        let result = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_NETLINK,
                option,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        check(result)?;
    }
    Ok(fd)
}

/// Sends one request to the kernel.
pub(crate) fn send(fd: BorrowedFd<'_>, message: &[u8]) -> io::Result<usize> {
    // SAFETY: pointer and length describe `message`, which the call only reads.
    check_bytes(unsafe {
        libc::send(
            fd.as_raw_fd(),
            message.as_ptr().cast(),
            message.len(),
            libc::MSG_NOSIGNAL,
        )
    })
}

/// Receives one datagram of answers; waits for it.
pub(crate) fn receive(fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length describe `into`, which we hold exclusively.
    check_bytes(unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), 0) })
}
