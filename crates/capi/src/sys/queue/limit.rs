//! A rule with its ledger, in memory of the caller.

use core::ffi::{c_char, c_void};

use taut_path::limit::Unit;

use super::limit_register::visit;
use super::placed_limit::{ALIGN, Limit, Place, Size, with_limit};
use super::text::{ErrorText, read};
use crate::sys::placed::write_result;
use crate::sys::snapshot::{Config, TAUT_LIMIT_MAX, config_at};
use crate::sys::status::Status;

/// Returns the bytes that the limit with this name needs; 0 for an unknown name. Names are
/// "off", "dql", "taut", "taut:99.5%", a size such as "40k" or packets such as "32p". "dql:packets"
/// and "taut:packets" count packets. Each can have a cap in time ("dql:2ms").
/// `taut_limit_help` lists them all, with those of `taut_limit_register`. Any thread can call it.
///
/// # Safety
/// `spec` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_size(spec: *const c_char) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe { read(spec) }.map_or(0, |spec| visit(spec, Size).unwrap_or(0))
}

/// Returns the alignment of the memory of a limit, in bytes; that of `malloc` suffices. Any thread
/// can call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_limit_align() -> usize {
    ALIGN
}

/// Creates the limit named `spec` in `memory`, which is then the `taut_limit`. It allocates
/// nothing. On failure, `error` receives the reason with the allowed names, truncated to
/// `error_bytes` including the terminating NUL; it can be null.
///
/// # Safety
/// `memory` points to `bytes` bytes of the caller; `spec` is null or a string; `error` is null or
/// points to `error_bytes` bytes of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_init(
    memory: *mut c_void,
    bytes: usize,
    spec: *const c_char,
    now_ns: u64,
    error: *mut c_char,
    error_bytes: usize,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let error_text = unsafe { ErrorText::new(error, error_bytes) };
    if memory.is_null() {
        return error_text.status(Status::Null);
    }
    let place = Place {
        memory,
        bytes,
        now_ns,
    };
    // SAFETY: guaranteed by the caller.
    match unsafe { read(spec) }.map(|spec| visit(spec, place)) {
        Ok(Ok(done)) => error_text.status(done.into()),
        Ok(Err(why)) => error_text.why(Status::BadSpec, why),
        Err(status) => error_text.status(status),
    }
}

/// Counts one object as passed to the device, in bytes, or as 1 for a limit in packets
/// (`taut_limit_in_packets`). Call it before the device can see it.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_queued(limit: *mut Limit, units: u32, now_ns: u64) -> Status {
    flat(with_limit(limit, |it| it.queued(units, now_ns)))
}

/// Removes the object queued last, which the device never saw: a send that failed.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_unqueue(limit: *mut Limit, units: u32) -> Status {
    flat(with_limit(limit, |it| it.unqueue(units)))
}

/// Returns the units left below the limit: one more object can be queued while it is at least 0.
/// -9223372036854775808 if it is not a `taut_limit`.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_room(limit: *mut Limit) -> i64 {
    with_limit(limit, |it| it.room()).unwrap_or(i64::MIN)
}

/// Reports a blocked sender: it has something to send and no room. Without it, rules other than
/// "dql" learn nothing.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_blocked(limit: *mut Limit) -> Status {
    with_limit(limit, |it| it.blocked()).into()
}

/// Counts the units completed since the last call, and updates the limit: once for each batch.
/// `more_pending` means that the batch stopped at a budget with completions pending. A batch of 0
/// changes nothing, except that it ends such a sequence.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_completed(
    limit: *mut Limit,
    units: u32,
    more_pending: bool,
    now_ns: u64,
) -> Status {
    flat(with_limit(limit, |it| {
        it.completed(units, more_pending, now_ns)
    }))
}

/// Discards the units in flight and the learnt state. Call it after the device was flushed.
/// Settings stay.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_reset(limit: *mut Limit, now_ns: u64) -> Status {
    with_limit(limit, |it| it.reset(now_ns)).into()
}

/// Returns the limit as an operator reads it, in its units: "7p" is 7, and allows 7 packets. 0 also
/// if it is not a `taut_limit`.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_value(limit: *mut Limit) -> u32 {
    with_limit(limit, |it| it.rule().config().limit).unwrap_or(0)
}

/// Returns the units queued and not yet completed; 0 also if it is not a `taut_limit`.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_in_flight(limit: *mut Limit) -> u32 {
    with_limit(limit, |it| it.in_flight()).unwrap_or(0)
}

/// Returns `true` if no limit applies, as with "off": `taut_limit_value` is then `TAUT_LIMIT_MAX`.
/// `false` also if it is not a `taut_limit`.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_unlimited(limit: *mut Limit) -> bool {
    with_limit(limit, |it| it.rule().config().limit >= TAUT_LIMIT_MAX).unwrap_or(false)
}

/// Returns `true` if it counts packets, not bytes.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_in_packets(limit: *mut Limit) -> bool {
    with_limit(limit, |it| it.rule().unit() == Unit::Packets).unwrap_or(false)
}

/// Counts completions of a device that reports its outstanding units. A level at which nothing
/// completed has no effect.
///
/// # Safety
/// `limit` points to a `taut_limit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_observe_in_flight(
    limit: *mut Limit,
    units: u32,
    now_ns: u64,
) -> Status {
    let done = with_limit(limit, |it| it.observe_in_flight(units, now_ns).map(drop));
    flat(done)
}

/// Reads the current settings; `limit` is the current limit.
///
/// # Safety
/// `limit` points to a `taut_limit`, `config` to a `taut_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_config(limit: *mut Limit, config: *mut Config) -> Status {
    let read = || with_limit(limit, |it| it.rule().config().into());
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(config, read) }
}

/// Changes settings: read them by `taut_limit_config`, change some, and pass them here.
///
/// # Safety
/// `limit` points to a `taut_limit`, `config` to a `taut_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_set_config(limit: *mut Limit, config: *const Config) -> Status {
    // SAFETY: guaranteed by the caller.
    match unsafe { config_at(config) } {
        Ok(config) => flat(with_limit(limit, |it| it.set_config(config))),
        Err(status) => status,
    }
}

fn flat(done: Result<Result<(), taut_dql::Error>, Status>) -> Status {
    done.map_or_else(|status| status, Status::from)
}
