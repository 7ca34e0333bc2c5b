//! Waiting for the error queue of one socket.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits for one of: an entry in the error queue of `socket`; write readiness, with `or_writable`;
/// `wakeup`; a signal; `timeout`.
pub(crate) fn wait_for_errors(
    socket: BorrowedFd<'_>,
    wakeup: Option<BorrowedFd<'_>>,
    or_writable: bool,
    timeout: Duration,
) -> io::Result<()> {
    // The kernel reports POLLERR even if it is not requested.
    let events = if or_writable {
        PollFlags::OUT
    } else {
        PollFlags::empty()
    };
    let timeout = Timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as _,
        tv_nsec: timeout.subsec_nanos() as _,
    };
    let mut waiting = [
        PollFd::from_borrowed_fd(socket, events),
        PollFd::from_borrowed_fd(wakeup.unwrap_or(socket), PollFlags::IN),
    ];
    let used = if wakeup.is_some() { 2 } else { 1 };
    match poll(&mut waiting[..used], Some(&timeout)) {
        Err(error) if error != Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}
