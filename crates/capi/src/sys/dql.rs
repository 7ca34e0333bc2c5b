//! The estimator with its ledger, for one thread or one lock.

use super::placed::{Opaque, answer, get, get_mut, put};
use super::snapshot::{Config, Snapshot, config_or_default};
use super::status::Status;

/// Words of a `taut_dql`: more than it needs, so that it can grow without another size.
pub const TAUT_DQL_WORDS: usize = 20;

/// A queue limit that one thread, or one lock, owns. The caller chooses where it lies, may move it
/// by copying while no call uses it, and has nothing to free.
#[repr(C)]
pub struct Dql {
    opaque: [u64; TAUT_DQL_WORDS],
}

// SAFETY: words.
unsafe impl Opaque for Dql {
    type Value = taut_dql::Dql;
    const MARK: u64 = u64::from_be_bytes(*b"taut dql");
}

/// Runs `work` on the estimator; a failure is its status.
///
/// # Safety
/// As for every function of this header.
unsafe fn with<T>(
    dql: *mut Dql,
    work: impl FnOnce(&mut taut_dql::Dql) -> Result<T, taut_dql::Error>,
) -> Result<T, Status> {
    // SAFETY: the caller's promise.
    let dql = unsafe { get_mut(dql) }?;
    work(dql).map_err(Status::from)
}

/// Makes one with the settings of `config`, or the defaults where that is null.
///
/// # Safety
/// `dql` points to a `taut_dql`; `config` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_init(
    dql: *mut Dql,
    config: *const Config,
    now_ns: u64,
) -> Status {
    // SAFETY: null, or what the caller says it is.
    let config = match unsafe { config_or_default(config) } {
        Ok(config) => config,
        Err(status) => return status,
    };
    match taut_dql::Dql::with_config(config, now_ns) {
        // SAFETY: the caller's promise.
        Ok(made) => unsafe { put(dql, made) },
        Err(error) => error.into(),
    }
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

/// Takes back the object queued last, which the device never saw: a send that failed.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_unqueue(dql: *mut Dql, units: u32) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(dql, |dql| dql.unqueue(units)) }.into()
}

/// Units left below the limit: one more object may be queued while it is at least 0. -2147483648 if
/// it is not a `taut_dql`.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_room(dql: *const Dql) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { get(dql) }.map_or(i32::MIN, taut_dql::Dql::room)
}

/// Counts the units completed since the last call, and updates the limit. Call it once for each
/// batch that completed something; not with 0 if nothing completed.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_completed(dql: *mut Dql, units: u32, now_ns: u64) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(dql, |dql| dql.completed(units, now_ns)) }.into()
}

/// Counts completions of a device that reports how much is still outstanding. `completed` is null,
/// or receives how many units completed. A level at which nothing completed has no effect.
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
    // SAFETY: the caller's promise.
    let done = unsafe { with(dql, |dql| dql.observe_in_flight(units, now_ns)) };
    // SAFETY: the caller's promise.
    done.map(|units| unsafe { answer(completed, units) }).into()
}

/// Brings the ledger to what the device really holds, after completions were lost or counted twice.
/// `too_much` is null, or gets by how much the ledger said too much.
///
/// # Safety
/// `dql` points to a `taut_dql`, `too_much` to a number if it is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_repair(
    dql: *mut Dql,
    in_flight: u32,
    now_ns: u64,
    too_much: *mut i64,
) -> Status {
    // SAFETY: the caller's promise.
    let done = unsafe { with(dql, |dql| dql.repair(in_flight, now_ns)) };
    // SAFETY: the caller's promise.
    done.map(|units| unsafe { answer(too_much, units) }).into()
}

/// Forgets what is in flight and restarts from the minimum of the limit, for when the device was
/// flushed. Settings stay.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_reset(dql: *mut Dql, now_ns: u64) -> Status {
    let reset = |dql: &mut taut_dql::Dql| {
        dql.reset(now_ns);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(dql, reset) }.into()
}

/// Sets the limit by hand; the next completion brings it between its bounds.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_limit(dql: *mut Dql, limit: u32) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(dql, |dql| dql.set_limit(limit)) }.into()
}

/// Sets the least that the limit may become, from the next completion on.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_limit_min(dql: *mut Dql, limit_min: u32) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(dql, |dql| dql.set_min_limit(limit_min)) }.into()
}

/// Sets the most that the limit may become, from the next completion on.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_limit_max(dql: *mut Dql, limit_max: u32) -> Status {
    // SAFETY: the caller's promise.
    unsafe { with(dql, |dql| dql.set_max_limit(limit_max)) }.into()
}

/// Sets how long slack is observed before the limit is cut, in ns.
///
/// # Safety
/// `dql` points to a `taut_dql`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_set_hold_time_ns(dql: *mut Dql, hold_time_ns: u64) -> Status {
    let set = |dql: &mut taut_dql::Dql| {
        dql.set_hold_time_ns(hold_time_ns);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(dql, set) }.into()
}

/// Everything at this moment.
///
/// # Safety
/// `dql` points to a `taut_dql`, `snapshot` to a `taut_snapshot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_dql_read(dql: *const Dql, snapshot: *mut Snapshot) -> Status {
    if snapshot.is_null() {
        return Status::Null;
    }
    // SAFETY: the caller's promise.
    let found = unsafe { get(dql) }.map(taut_dql::Dql::snapshot);
    // SAFETY: the caller's promise.
    found
        .map(|found| unsafe { answer(snapshot, found.into()) })
        .into()
}
