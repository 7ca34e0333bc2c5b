//! eventfd(2).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::check;

/// A new event counter at 0, nonblocking.
pub(crate) fn open() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the kernel just gave us this descriptor and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
