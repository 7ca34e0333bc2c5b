//! `TCP_INFO`, see tcp(7).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Fills `info` with as much of `struct tcp_info` as it holds, and answers how many bytes the
/// kernel wrote: an older kernel has fewer fields.
pub fn get(socket: BorrowedFd<'_>, info: &mut [u8]) -> io::Result<usize> {
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: `info` is writable for `length` bytes, which is all that the kernel writes, and both
    // pointers live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(length as usize)
    } else {
        Err(io::Error::last_os_error())
    }
}
