//! unshare(2) and setns(2).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// Moves the calling thread into a new network namespace.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: no pointers; it changes only which namespace this thread belongs to.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Moves the process into a new user namespace. Fails with `EINVAL` if it has other threads.
pub(crate) fn unshare_user() -> io::Result<()> {
    // SAFETY: no pointers; it changes only the credentials of the process.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }).map(drop)
}

/// Moves the calling thread into the network namespace that `namespace` is open on.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointers; the borrow keeps the descriptor open during the call.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Gives the calling thread mounts of its own, which nobody else sees.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: no pointers; it changes only which mounts this thread sees.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_FS) })?;
    // SAFETY: the strings end with a zero and outlive the call, which reads no more than them.
    check(unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        )
    })
    .map(drop)
}

/// Mounts the sysfs of the calling thread's network namespace over `/sys`. Only after
/// [`unshare_mounts`].
pub(crate) fn mount_sysfs() -> io::Result<()> {
    // SAFETY: as for `unshare_mounts`.
    check(unsafe {
        libc::mount(
            c"sysfs".as_ptr(),
            c"/sys".as_ptr(),
            c"sysfs".as_ptr(),
            0,
            std::ptr::null(),
        )
    })
    .map(drop)
}
