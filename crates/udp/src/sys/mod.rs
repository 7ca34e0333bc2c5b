//! System calls, one file per interface: the only place with `unsafe`.
//!
//! Every function here is safe to call with any arguments; the kernel returns an error for invalid
//! ones.

pub(crate) mod clock;
#[cfg(feature = "tokio")]
pub(crate) mod epoll;
pub(crate) mod message;
pub(crate) mod socket;

use std::io;

/// Converts the result of a call that returns -1 and sets `errno`.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
