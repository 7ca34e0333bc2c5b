//! Socket options.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// Sets an option that is an `int` or a struct of integers.
pub(crate) fn set_option<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: T,
) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which outlives the call and is only read.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
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
    Ok(value)
}
