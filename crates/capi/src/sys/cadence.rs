//! The cadence before a limit, for uneven completions.

use super::placed::{Opaque, answer, get, get_mut, put};
use super::status::Status;

/// Words of a `taut_cadence`.
pub const TAUT_CADENCE_WORDS: usize = 8;

/// Reports completions at a regular interval, or earlier when more is pending than the limit,
/// because the device might then run dry. Only the count is delayed. The caller chooses where it
/// lies, may move it by copying while no call uses it, and has nothing to free.
#[repr(C)]
pub struct Cadence {
    opaque: [u64; TAUT_CADENCE_WORDS],
}

// SAFETY: words.
unsafe impl Opaque for Cadence {
    type Value = taut_dql::Coalescer;
    const MARK: u64 = u64::from_be_bytes(*b"taut cad");
}

/// Makes one; a period of 0 hands everything on at once.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_init(cadence: *mut Cadence, period_ns: u64) -> Status {
    // SAFETY: required of the caller, here and below.
    unsafe { put(cadence, taut_dql::Coalescer::new(period_ns)) }
}

/// Adds the completions of a batch. `due` receives all units to be completed now: pass them to
/// `taut_dql_completed` unless it is 0, because they have left the cadence. `limit` is the current
/// limit.
///
/// # Safety
/// `cadence` points to a `taut_cadence`, `due` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_add(
    cadence: *mut Cadence,
    units: u32,
    limit: u32,
    now_ns: u64,
    due: *mut u32,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { hand_on(cadence, due, |it| it.add(units, limit, now_ns)) }
}

/// For the timer: as `taut_cadence_add`, with nothing new.
///
/// # Safety
/// `cadence` points to a `taut_cadence`, `due` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_due(
    cadence: *mut Cadence,
    now_ns: u64,
    due: *mut u32,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { hand_on(cadence, due, |it| it.poll(now_ns)) }
}

/// # Safety
/// As for [`taut_cadence_add`].
unsafe fn hand_on(
    cadence: *mut Cadence,
    due: *mut u32,
    work: impl FnOnce(&mut taut_dql::Coalescer) -> Option<u32>,
) -> Status {
    if due.is_null() {
        return Status::Null;
    }
    // SAFETY: the caller's promise.
    let units = unsafe { get_mut(cadence) }.map(|it| work(it).unwrap_or(0));
    // SAFETY: the caller's promise.
    units.map(|units| unsafe { answer(due, units) }).into()
}

/// Units that wait to be handed on; 0 for what is no `taut_cadence`.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_pending(cadence: *const Cadence) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { get(cadence) }.map_or(0, taut_dql::Coalescer::pending)
}

/// When to call `taut_cadence_due`, in ns; 18446744073709551615 while nothing is pending.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_next_wakeup_ns(cadence: *const Cadence) -> u64 {
    // SAFETY: the caller's promise.
    let at_ns = unsafe { get(cadence) }.map(taut_dql::Coalescer::next_wakeup);
    at_ns.ok().flatten().unwrap_or(u64::MAX)
}

/// Forgets what is pending and the period that runs; for when the limit is reset.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_reset(cadence: *mut Cadence) -> Status {
    // SAFETY: the caller's promise.
    let it = unsafe { get_mut(cadence) };
    it.map(taut_dql::Coalescer::reset).into()
}
