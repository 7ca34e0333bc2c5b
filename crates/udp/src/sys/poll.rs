//! ppoll(2) for one socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::check;

/// Waits until `socket` has something in its error queue (or can be written, if asked for), or
/// until `timeout` has passed. Signals end it too.
pub(crate) fn wait_for_errors(
    socket: BorrowedFd<'_>,
    or_writable: bool,
    timeout: Duration,
) -> io::Result<()> {
    let mut waiting = libc::pollfd {
        fd: socket.as_raw_fd(),
        // POLLERR is always told.
        events: if or_writable { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as _,
        tv_nsec: timeout.subsec_nanos() as _,
    };
    // SAFETY: one entry that we hold, a timeout that outlives the call, no signal mask.
    let done =
        check(unsafe { libc::ppoll(&raw mut waiting, 1, &raw const timeout, std::ptr::null()) });
    match done {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}
