//! The namespaces and the priority of a thread.

use std::io;

use rustix::io::Errno;
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::check;

/// Moves the calling thread into new namespaces. `EINVAL` for `FILES`: other threads' descriptors
/// would become invalid in this one.
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    if flags.contains(UnshareFlags::FILES) {
        return Err(Errno::INVAL);
    }
    // SAFETY: the thread keeps its table of descriptors, see above.
    unsafe { unshare_unsafe(flags) }
}

/// Puts the calling thread under first-in first-out real-time scheduling; its children start
/// without it.
pub(crate) fn set_realtime(priority: libc::c_int) -> io::Result<()> {
    // SAFETY: `sched_param` is plain old data for which all zeroes is valid.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: pid 0 is the calling thread; the pointer is to a live `sched_param`.
    check(unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    })
    .map(drop)
}
