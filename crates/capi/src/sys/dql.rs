//! Linux's rule with its ledger, for one thread or one lock.

use super::placed::{Opaque, answer, get, get_mut, put, with, write_result};
use super::snapshot::{Config, Snapshot, config_or_default};
use super::status::Status;

/// Words of a `taut_dql`: more than it needs, so that it can grow without another size.
pub const TAUT_DQL_WORDS: usize = 20;

/// A queue limit that one thread, or one lock, owns. It is placed in memory of the caller, can be
/// moved by copying while no call uses it, and needs no freeing.
#[repr(C)]
pub struct Dql {
    opaque: [u64; TAUT_DQL_WORDS],
}

// SAFETY: plain words.
unsafe impl Opaque for Dql {
    type Value = taut_dql::Dql;
    const MARK: u64 = u64::from_be_bytes(*b"taut dql");
}

/// Initialises a limit with the settings of `config`, or the defaults if it is null.
///
/// # Safety
/// `dql` points to a `taut_dql`; `config` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_init(
    dql: *mut Dql,
    config: *const Config,
    now_ns: u64,
) -> Status {
    let init = || {
        // SAFETY: null, or valid as the caller guarantees.
        let config = unsafe { config_or_default(config) }?;
        let created = taut_dql::Dql::with_config(config, now_ns)?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(dql, created) }
    };
    init().into()
}

/// Counts one object as passed to the device. Call it before the device can see it. No object is
/// rejected for exceeding the limit: check the room after each.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_queued(dql: *mut Dql, units: u32) -> Status {
    // SAFETY: required of the caller, here and below.
    unsafe { with(dql, |dql| dql.queued(units)) }.into()
}

/// Removes the object queued last, which the device never saw: a send that failed.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_unqueue(dql: *mut Dql, units: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { with(dql, |dql| dql.unqueue(units)) }.into()
}

/// Returns the units left below the limit: one more object can be queued while it is at least 0.
/// -2147483648 if it is not a `taut_dql`.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_room(dql: *const Dql) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe { get(dql) }.map_or(i32::MIN, taut_dql::Dql::room)
}

/// Counts the units completed since the last call, and updates the limit. Call it once for each
/// batch that completed something; not with 0 if nothing completed.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_completed(dql: *mut Dql, units: u32, now_ns: u64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { with(dql, |dql| dql.completed(units, now_ns)) }.into()
}

/// Counts completions of a device that reports its outstanding units. `completed` is null, or
/// receives the units completed. A level at which nothing completed has no effect.
///
/// # Safety
/// `dql` points to a `taut_dql`, `completed` to a number if it is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_observe_in_flight(
    dql: *mut Dql,
    units: u32,
    now_ns: u64,
    completed: *mut u32,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let done = unsafe { with(dql, |dql| dql.observe_in_flight(units, now_ns)) };
    // SAFETY: guaranteed by the caller.
    done.map(|units| unsafe { answer(completed, units) }).into()
}

/// Corrects the ledger to the units that the device holds, after completions were lost or counted
/// twice. `excess` is null, or receives the units that the ledger had in excess.
///
/// # Safety
/// `dql` points to a `taut_dql`, `excess` to a number if it is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_repair(
    dql: *mut Dql,
    in_flight: u32,
    now_ns: u64,
    excess: *mut i64,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let done = unsafe { with(dql, |dql| dql.repair(in_flight, now_ns)) };
    // SAFETY: guaranteed by the caller.
    done.map(|units| unsafe { answer(excess, units) }).into()
}

/// Discards the units in flight and restarts from the minimum limit. Call it after the device was
/// flushed. Settings stay.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_reset(dql: *mut Dql, now_ns: u64) -> Status {
    // SAFETY: guaranteed by the caller.
    let dql = unsafe { get_mut(dql) };
    dql.map(|it| it.reset(now_ns)).into()
}

/// Sets the limit explicitly; the next completion moves it between its bounds.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_limit(dql: *mut Dql, limit: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { configure(dql, |config| config.limit = limit) }
}

/// Sets the minimum of the limit, from the next completion on.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_limit_min(dql: *mut Dql, limit_min: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { configure(dql, |config| config.min_limit = limit_min) }
}

/// Sets the maximum of the limit, from the next completion on.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_limit_max(dql: *mut Dql, limit_max: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { configure(dql, |config| config.max_limit = limit_max) }
}

/// Sets how long slack is observed before the limit is decreased, in ns.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_hold_time_ns(dql: *mut Dql, hold_time_ns: u64) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { configure(dql, |config| config.hold_time_ns = hold_time_ns) }
}

/// # Safety
/// `dql` points to a `taut_dql`.
unsafe fn configure(dql: *mut Dql, change: impl FnOnce(&mut taut_dql::Config)) -> Status {
    let set = |dql: &mut taut_dql::Dql| {
        let mut config = dql.config();
        change(&mut config);
        dql.set_config(config)
    };
    // SAFETY: guaranteed by the caller.
    unsafe { with(dql, set) }.into()
}

/// Reads the state at this moment.
///
/// # Safety
/// `dql` points to a `taut_dql`, `snapshot` to a `taut_snapshot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_read(dql: *const Dql, snapshot: *mut Snapshot) -> Status {
    // SAFETY: guaranteed by the caller.
    let read = || Ok(unsafe { get(dql) }?.snapshot().into());
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(snapshot, read) }
}
