//! The stall watch beside a limit.

use super::placed::{Opaque, answer, get, get_mut, put};
use super::status::Status;

/// Words of a `taut_stall_watch`.
pub const TAUT_STALL_WATCH_WORDS: usize = 64;

/// Finds a device whose oldest unit in flight is older than a threshold: one that stopped, or that reports less
/// than it was given. Where it lies is the caller's choice, it may be moved by copying while no call is in it, and it
/// holds nothing that must be freed.
#[repr(C)]
pub struct StallWatch {
    opaque: [u64; TAUT_STALL_WATCH_WORDS],
}

// SAFETY: words.
unsafe impl Opaque for StallWatch {
    type Value = taut_dql::StallWatch;
    const MARK: u64 = u64::from_be_bytes(*b"taut sta");
}

/// What a stall watch counted.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Stalls {
    /// Stalls.
    pub count: u64,
    /// The greatest age that was found above the threshold, in ns.
    pub longest_ns: u64,
    /// When one was found last, in ns.
    pub last_at_ns: u64,
}

/// Makes one; 1000000000 (a second) suits any link, 0 watches nothing.
///
/// # Safety
/// `watch` points to a `taut_stall_watch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_watch_init(
    watch: *mut StallWatch,
    threshold_ns: u64,
) -> Status {
    // SAFETY: the caller's promise, here and below.
    unsafe { put(watch, taut_dql::StallWatch::new(threshold_ns)) }
}

/// Call it after each completion, with the totals of after it: `num_queued` and `num_completed` of `taut_dql_read`.
///
/// # Safety
/// `watch` points to a `taut_stall_watch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_watch_completed(
    watch: *mut StallWatch,
    num_queued: u32,
    num_completed: u32,
    now_ns: u64,
) -> Status {
    // SAFETY: the caller's promise.
    let it = unsafe { get_mut(watch) };
    it.map(|it| it.completed(num_queued, num_completed, now_ns))
        .into()
}

/// Whether the oldest unit in flight is older than the threshold now: `age_ns` gets how old, or 0 if it is not.
/// `burst_start_ns` is when something was last queued while nothing was in flight. Call it now and then, also while
/// nothing completes.
///
/// # Safety
/// `watch` points to a `taut_stall_watch`, `age_ns` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_watch_check(
    watch: *mut StallWatch,
    num_queued: u32,
    num_completed: u32,
    burst_start_ns: u64,
    now_ns: u64,
    age_ns: *mut u64,
) -> Status {
    if age_ns.is_null() {
        return Status::Null;
    }
    // SAFETY: the caller's promise.
    let it = unsafe { get_mut(watch) };
    let stall = it.map(|it| it.check(num_queued, num_completed, burst_start_ns, now_ns));
    let age = stall.map(|stall| stall.map_or(0, |stall| stall.age_ns));
    // SAFETY: the caller's promise.
    age.map(|found_ns| unsafe { answer(age_ns, found_ns) })
        .into()
}

/// What it counted.
///
/// # Safety
/// `watch` points to a `taut_stall_watch`, `stalls` to a `taut_stalls`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_watch_read(
    watch: *const StallWatch,
    stalls: *mut Stalls,
) -> Status {
    if stalls.is_null() {
        return Status::Null;
    }
    // SAFETY: the caller's promise.
    let found = unsafe { get(watch) }.map(|it| Stalls {
        count: it.count(),
        longest_ns: it.longest_ns(),
        last_at_ns: it.last_at_ns(),
    });
    // SAFETY: the caller's promise.
    found.map(|found| unsafe { answer(stalls, found) }).into()
}

/// Forgets what is in flight and the stall that lasts, for when the limit is reset; the counts stay.
///
/// # Safety
/// `watch` points to a `taut_stall_watch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_stall_watch_reset(watch: *mut StallWatch) -> Status {
    // SAFETY: the caller's promise.
    let it = unsafe { get_mut(watch) };
    it.map(taut_dql::StallWatch::reset).into()
}
