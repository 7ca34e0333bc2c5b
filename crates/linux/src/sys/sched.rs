//! Priority and clocks.

use std::io;

use super::check;

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

/// Reads `clock` in nanoseconds.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live `timespec`.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    // Cannot fail: the callers use clocks that every kernel has, and the pointer is valid.
    debug_assert_eq!(result, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
