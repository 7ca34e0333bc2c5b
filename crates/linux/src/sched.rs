//! Clocks, timers and real-time priority.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

use crate::error::{Context, check_range};
use crate::sys;

/// The minimum; the kernel interprets 0 as the default of 50 us.
const MIN_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

/// Sets the minimum timer slack for the calling thread. By default the kernel coalesces timers and
/// can be 50 us late.
///
/// # Errors
/// The error of `prctl`.
pub fn precise_timers() -> io::Result<()> {
    set_current_timer_slack(Some(MIN_SLACK_NS)).context("PR_SET_TIMERSLACK", "own thread")
}

/// Puts the calling thread under real-time scheduling (`SCHED_FIFO`) at `priority`, 1..=99. Use it
/// only for threads that sleep: one that spins monopolises its CPU.
///
/// # Errors
/// `InvalidInput` for a priority out of range; `PermissionDenied` without CAP_SYS_NICE, in which
/// case a program can continue without.
pub fn realtime_priority(priority: u8) -> io::Result<()> {
    check_range("real-time priority", priority.into(), 1..=99)?;
    sys::thread::set_realtime(priority.into()).context("sched_setscheduler", "own thread")
}

/// Returns the time of the monotonic clock (`CLOCK_MONOTONIC`), in ns.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// Returns the CPU time of the process's threads, in user space and in the kernel, in ns.
pub fn process_cpu_ns() -> u64 {
    clock_ns(ClockId::ProcessCPUTime)
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
