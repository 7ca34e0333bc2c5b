//! Being on time: clocks, timers and priority.

use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};

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

/// Processors that the calling thread may run on, by number, as far as there are fewer than 1024.
///
/// # Errors
/// What `sched_getaffinity` fails with.
pub fn allowed_processors() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)
        .map_err(|cause| failed("sched_getaffinity", "own thread", cause))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&number| allowed.is_set(number))
        .collect())
}

/// Keeps the calling thread on one processor, one of [`allowed_processors`].
///
/// # Errors
/// `InvalidInput` for a processor that there is not, or that the thread may not run on.
pub fn keep_to_processor(number: usize) -> io::Result<()> {
    // The kernel rejects an empty set, and one of processors that do not exist.
    let mut only = CpuSet::new();
    if number < CpuSet::MAX_CPU {
        only.set(number);
    }
    sched_setaffinity(None, &only).map_err(|cause| failed("sched_setaffinity", "own thread", cause))
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
    fn a_thread_stays_on_the_processor_that_it_is_kept_to() {
        let allowed = allowed_processors().expect("at least this one");
        let last = *allowed.last().expect("at least this one");
        keep_to_processor(last).expect("allowed");
        assert_eq!(allowed_processors().expect("one"), [last]);
        assert!(keep_to_processor(usize::MAX).is_err());
    }

    #[test]
    fn settings_of_a_thread() {
        precise_timers().expect("own slack");
        assert!(realtime_priority(0).is_err());
        assert!(realtime_priority(100).is_err());
    }
}
