//! The clocks used here.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns the time of the monotonic clock, in ns.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Returns the time of the wall clock, which the kernel's timestamps use, in ns.
pub(crate) fn real_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
