//! The completion coalescer in front of a limit, for irregular completions.

use super::placed::{Opaque, get, get_mut, put, write_result};
use super::status::Status;

/// Words of a `taut_coalescer`.
pub const TAUT_COALESCER_WORDS: usize = 8;

/// Reports completions at a regular interval. It reports earlier when more is pending than the
/// limit, because the device might then starve. Only the count is delayed. It is placed in memory
/// of the caller, can be moved by copying while no call uses it, and needs no freeing.
#[repr(C)]
pub struct Coalescer {
    opaque: [u64; TAUT_COALESCER_WORDS],
}

// SAFETY: plain words.
unsafe impl Opaque for Coalescer {
    type Value = taut_dql::Coalescer;
    const MARK: u64 = u64::from_be_bytes(*b"taut cad");
}

/// Initialises a coalescer; with a period of 0, it reports everything at once.
///
/// # Safety
/// `coalescer` points to a `taut_coalescer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_coalescer_init(coalescer: *mut Coalescer, period_ns: u64) -> Status {
    // SAFETY: required of the caller, here and below.
    unsafe { put(coalescer, taut_dql::Coalescer::new(period_ns)) }.into()
}

/// Adds the completions of a batch. `units_out` receives all units to be completed now: pass them
/// to `taut_dql_completed` unless it is 0, because they are no longer pending here. `limit` is the
/// current limit.
///
/// # Safety
/// `coalescer` points to a `taut_coalescer`, `units_out` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_coalescer_add(
    coalescer: *mut Coalescer,
    units: u32,
    limit: u32,
    now_ns: u64,
    units_out: *mut u32,
) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { report(coalescer, units_out, |it| it.add(units, limit, now_ns)) }
}

/// Polls the coalescer at its timer: as `taut_coalescer_add`, without new completions.
///
/// # Safety
/// `coalescer` points to a `taut_coalescer`, `units_out` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_coalescer_poll(
    coalescer: *mut Coalescer,
    now_ns: u64,
    units_out: *mut u32,
) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { report(coalescer, units_out, |it| it.poll(now_ns)) }
}

/// # Safety
/// As for [`taut_coalescer_add`].
unsafe fn report(
    coalescer: *mut Coalescer,
    units_out: *mut u32,
    work: impl FnOnce(&mut taut_dql::Coalescer) -> Option<u32>,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let add = || unsafe { get_mut(coalescer) }.map(|it| work(it).unwrap_or(0));
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(units_out, add) }
}

/// Returns the pending units; 0 if it is not a `taut_coalescer`.
///
/// # Safety
/// `coalescer` points to a `taut_coalescer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_coalescer_pending(coalescer: *const Coalescer) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { get(coalescer) }.map_or(0, taut_dql::Coalescer::pending)
}

/// Returns when to call `taut_coalescer_poll`, in ns; 18446744073709551615 while nothing is
/// pending.
///
/// # Safety
/// `coalescer` points to a `taut_coalescer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_coalescer_next_wakeup_ns(coalescer: *const Coalescer) -> u64 {
    // SAFETY: guaranteed by the caller.
    let at_ns = unsafe { get(coalescer) }.map(taut_dql::Coalescer::next_wakeup);
    at_ns.ok().flatten().unwrap_or(u64::MAX)
}

/// Discards the pending units and the current period. Call it when the limit is reset.
///
/// # Safety
/// `coalescer` points to a `taut_coalescer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_coalescer_reset(coalescer: *mut Coalescer) -> Status {
    // SAFETY: guaranteed by the caller.
    let it = unsafe { get_mut(coalescer) };
    it.map(taut_dql::Coalescer::reset).into()
}
