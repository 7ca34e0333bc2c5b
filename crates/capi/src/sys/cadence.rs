//! The completion coalescer in front of a limit, for irregular completions.

use super::placed::{Opaque, answer, get, get_mut, put};
use super::status::Status;

/// Words of a `taut_cadence`.
pub const TAUT_CADENCE_WORDS: usize = 8;

/// Reports completions at a regular interval. It reports earlier when more is pending than the
/// limit, because the device might then starve. Only the count is delayed. It is placed in memory
/// of the caller, can be moved by copying while no call uses it, and needs no freeing.
#[repr(C)]
pub struct Cadence {
    opaque: [u64; TAUT_CADENCE_WORDS],
}

// SAFETY: plain words.
unsafe impl Opaque for Cadence {
    type Value = taut_dql::Cadence;
    const MARK: u64 = u64::from_be_bytes(*b"taut cad");
}

/// Initialises a coalescer; with a period of 0, it reports everything at once.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_init(cadence: *mut Cadence, period_ns: u64) -> Status {
    // SAFETY: required of the caller, here and below.
    unsafe { put(cadence, taut_dql::Cadence::new(period_ns)) }
}

/// Adds the completions of a batch. `due` receives all units to be completed now: pass them to
/// `taut_dql_completed` unless it is 0, because they are no longer pending here. `limit` is the
/// current limit.
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
    // SAFETY: guaranteed by the caller.
    unsafe { report(cadence, due, |it| it.add(units, limit, now_ns)) }
}

/// Polls the coalescer at its timer: as `taut_cadence_add`, without new completions.
///
/// # Safety
/// `cadence` points to a `taut_cadence`, `due` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_due(
    cadence: *mut Cadence,
    now_ns: u64,
    due: *mut u32,
) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { report(cadence, due, |it| it.due(now_ns)) }
}

/// # Safety
/// As for [`taut_cadence_add`].
unsafe fn report(
    cadence: *mut Cadence,
    due: *mut u32,
    work: impl FnOnce(&mut taut_dql::Cadence) -> Option<u32>,
) -> Status {
    if due.is_null() {
        return Status::Null;
    }
    // SAFETY: guaranteed by the caller.
    let units = unsafe { get_mut(cadence) }.map(|it| work(it).unwrap_or(0));
    // SAFETY: guaranteed by the caller.
    units.map(|units| unsafe { answer(due, units) }).into()
}

/// Returns the pending units; 0 if it is not a `taut_cadence`.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_pending(cadence: *const Cadence) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { get(cadence) }.map_or(0, taut_dql::Cadence::pending)
}

/// Returns when to call `taut_cadence_due`, in ns; 18446744073709551615 while nothing is pending.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_next_wakeup_ns(cadence: *const Cadence) -> u64 {
    // SAFETY: guaranteed by the caller.
    let at_ns = unsafe { get(cadence) }.map(taut_dql::Cadence::next_wakeup);
    at_ns.ok().flatten().unwrap_or(u64::MAX)
}

/// Discards the pending units and the current period. Call it when the limit is reset.
///
/// # Safety
/// `cadence` points to a `taut_cadence`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_cadence_reset(cadence: *mut Cadence) -> Status {
    // SAFETY: guaranteed by the caller.
    let it = unsafe { get_mut(cadence) };
    it.map(taut_dql::Cadence::reset).into()
}
