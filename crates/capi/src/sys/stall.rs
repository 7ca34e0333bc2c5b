//! The stall detector of a limit.

use taut_dql::stall::FifoStallDetector;

use super::placed::{Opaque, get, get_mut, put, write_result};
use super::status::Status;

/// Words of a `taut_stall_detector`.
pub const TAUT_STALL_DETECTOR_WORDS: usize = 64;

/// Detects a device whose oldest unit in flight is older than a threshold: it stalled, or it lost
/// completions. An age is never too low, and too high by at most an eighth of the threshold and one
/// completion interval. It is placed in memory of the caller, can be moved by copying while no call
/// uses it, and needs no freeing.
#[repr(C)]
pub struct StallDetector {
    opaque: [u64; TAUT_STALL_DETECTOR_WORDS],
}

// SAFETY: plain words.
unsafe impl Opaque for StallDetector {
    type Value = FifoStallDetector;
    const MARK: u64 = u64::from_be_bytes(*b"taut sta");
}

/// The counts of a stall detector.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Stalls {
    /// Stalls.
    pub count: u64,
    /// The maximum age above the threshold, in ns.
    pub longest_ns: u64,
    /// When a stall was last found, in ns.
    pub last_stall_ns: u64,
}

/// Creates one; 1000000000 (a second) suits any link, 0 detects nothing.
///
/// # Safety
/// `detector` points to a `taut_stall_detector`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_detector_init(
    detector: *mut StallDetector,
    threshold_ns: u64,
) -> Status {
    // SAFETY: required of the caller, here and below.
    unsafe { put(detector, FifoStallDetector::new(threshold_ns)) }.into()
}

/// Call it after each completion, with the totals after it: `num_queued` and `num_completed` of
/// `taut_dql_read`.
///
/// # Safety
/// `detector` points to a `taut_stall_detector`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_detector_completed(
    detector: *mut StallDetector,
    num_queued: u32,
    num_completed: u32,
    now_ns: u64,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let it = unsafe { get_mut(detector) };
    it.map(|it| it.completed(num_queued, num_completed, now_ns))
        .into()
}

/// Checks whether the oldest unit in flight is older than the threshold now: `age_ns` receives its
/// age, or 0 if it is not. `burst_start_ns` is when something was last queued while nothing was in
/// flight. Call it periodically, also while nothing completes.
///
/// # Safety
/// `detector` points to a `taut_stall_detector`, `age_ns` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_detector_check(
    detector: *mut StallDetector,
    num_queued: u32,
    num_completed: u32,
    burst_start_ns: u64,
    now_ns: u64,
    age_ns: *mut u64,
) -> Status {
    let check = |it: &mut FifoStallDetector| {
        let stall = it.check(num_queued, num_completed, burst_start_ns, now_ns);
        stall.map_or(0, |stall| stall.age_ns)
    };
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(age_ns, || get_mut(detector).map(check)) }
}

/// Reads the counts.
///
/// # Safety
/// `detector` points to a `taut_stall_detector`, `stalls` to a `taut_stalls`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_detector_read(
    detector: *const StallDetector,
    stalls: *mut Stalls,
) -> Status {
    let read = |it: &FifoStallDetector| Stalls {
        count: it.count(),
        longest_ns: it.longest_ns(),
        last_stall_ns: it.last_stall_ns(),
    };
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(stalls, || get(detector).map(read)) }
}

/// Discards the units in flight and the current stall, for when the limit is reset; the counts
/// stay.
///
/// # Safety
/// `detector` points to a `taut_stall_detector`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_detector_reset(detector: *mut StallDetector) -> Status {
    // SAFETY: guaranteed by the caller.
    let it = unsafe { get_mut(detector) };
    it.map(FifoStallDetector::reset).into()
}
