//! Sockets and their options.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{check, check_bytes};

/// Opens a close-on-exec socket in the calling thread's network namespace. `kind` may have
/// `SOCK_NONBLOCK`.
pub(crate) fn open(
    family: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the kernel just gave us this descriptor and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
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

/// Reads an option that is one or more `unsigned int`s.
pub(crate) fn option<const WORDS: usize>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<[u32; WORDS]> {
    let mut value = [0u32; WORDS];
    let mut length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which we hold exclusively.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value)
}

/// Sends a datagram over a connected socket; an empty one is a packet ring's doorbell.
pub(crate) fn send(fd: BorrowedFd<'_>, data: &[u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: pointer and length describe `data`, which the call only reads.
    check_bytes(unsafe {
        libc::send(
            fd.as_raw_fd(),
            data.as_ptr().cast(),
            data.len(),
            flags | libc::MSG_NOSIGNAL,
        )
    })
}

/// Receives one datagram and answers its length: with `MSG_TRUNC` its own, even if longer than
/// `into`.
pub(crate) fn receive(
    fd: BorrowedFd<'_>,
    into: &mut [u8],
    flags: libc::c_int,
) -> io::Result<usize> {
    // SAFETY: pointer and length describe `into`, which we hold exclusively.
    check_bytes(unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), flags) })
}
