//! Timers, priority and clocks.

use std::io;

use super::check;

/// Sets how late the kernel may make the calling thread's timers.
pub(crate) fn set_timer_slack(slack_ns: libc::c_ulong) -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes its argument by value.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns, 0, 0, 0) }).map(drop)
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

/// The processors that the calling thread may run on.
pub(crate) fn affinity() -> io::Result<Vec<usize>> {
    // SAFETY: `cpu_set_t` is plain old data for which all zeroes is valid.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: pid 0 is the calling thread; the pointer is to a live set of the size that is said.
    check(unsafe { libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed) })?;
    let numbers = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: the numbers are those of a set.
    Ok(numbers
        .filter(|&number| unsafe { libc::CPU_ISSET(number, &allowed) })
        .collect())
}

/// Keeps the calling thread on the processor `number`.
pub(crate) fn set_affinity(number: usize) -> io::Result<()> {
    // SAFETY: `cpu_set_t` is plain old data for which all zeroes is valid.
    let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // The kernel refuses an empty set, as it does one of processors that there are not.
    if number < libc::CPU_SETSIZE as usize {
        // SAFETY: the number is one of a set.
        unsafe { libc::CPU_SET(number, &mut only) };
    }
    // SAFETY: pid 0 is the calling thread; the pointer is to a live set of the size that is said.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(&only), &raw const only) }).map(drop)
}

/// Reads `clock` in nanoseconds.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live `timespec`.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    // The callers name clocks that every kernel has, and the pointer is good.
    debug_assert_eq!(result, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
