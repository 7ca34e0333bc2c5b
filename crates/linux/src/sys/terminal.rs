//! Terminals.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::check;

/// Columns of the terminal behind `fd`, 0 if it does not say.
pub(crate) fn columns(fd: BorrowedFd<'_>) -> io::Result<u16> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCGWINSZ writes one `winsize`, and the pointer is to a live one.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) })?;
    Ok(size.ws_col)
}
