//! Being on time: clocks, timers and priority.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;

use crate::error::{failed, invalid};
use crate::sys;

/// The minimum; the kernel takes 0 as the default of 50 us.
const MIN_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

/// Makes the timers of the calling thread as exact as the kernel can: by default it may bundle
/// them and be 50 us late.
///
/// # Errors
/// What `prctl` fails with.
pub fn precise_timers() -> io::Result<()> {
    set_current_timer_slack(Some(MIN_SLACK_NS))
        .map_err(|cause| failed("PR_SET_TIMERSLACK", "own thread", cause))
}

/// Puts the calling thread under real-time scheduling (`SCHED_FIFO`) at `priority`, 1..=99. A
/// thread that spins under it takes its processor for good: only for threads that wait.
///
/// # Errors
/// `InvalidInput` for a priority out of range; `PermissionDenied` without CAP_SYS_NICE: go on
/// without.
pub fn realtime_priority(priority: u8) -> io::Result<()> {
    if !(1..=99).contains(&priority) {
        return Err(invalid(format!("real-time priority {priority}: 1 to 99")));
    }
    sys::sched::set_realtime(priority.into())
        .map_err(|cause| failed("sched_setscheduler", "own thread", cause))
}

/// Nanoseconds of the clock that only goes forward (`CLOCK_MONOTONIC`).
pub fn monotonic_ns() -> u64 {
    sys::sched::clock_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds that the process's threads have run, in user space and in the kernel.
pub fn process_cpu_ns() -> u64 {
    sys::sched::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        let (start, cpu_start) = (monotonic_ns(), process_cpu_ns());
        while process_cpu_ns() < cpu_start + 1_000_000 {}
        assert!(monotonic_ns() > start);
    }

    #[test]
    fn settings_of_a_thread() {
        precise_timers().expect("own slack");
        assert!(realtime_priority(0).is_err());
        assert!(realtime_priority(100).is_err());
    }
}
