//! ppoll(2).

use std::io;
use std::time::Duration;

use super::check;

/// Fits every `time_t`; 68 years.
const LONGEST_SECONDS: u64 = i32::MAX as u64;

/// Waits until one of `fds` has something to say or `timeout` has passed (`None`: no limit), and
/// answers how many have. Fails with `EINTR` when a signal came.
pub(crate) fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<usize> {
    let timeout = timeout.map(|left| libc::timespec {
        tv_sec: left.as_secs().min(LONGEST_SECONDS) as _,
        tv_nsec: left.subsec_nanos() as _,
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), |timeout| &raw const *timeout);
    // SAFETY: pointer and count describe `fds`, which we hold exclusively; the timeout is null or
    // points to a value that outlives the call; no signal mask.
    let ready =
        check(unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as _, timeout, std::ptr::null()) })?;
    Ok(ready as usize)
}
