//! A limit of the program's own, as functions.

use core::ffi::c_void;

use taut_path::limit::{CompletionBatch, Needs, Unit};

use super::limit::place;
use super::placed::argument;
use super::status::Status;

/// A completion batch, for the functions of a limit. Units are bytes, or packets.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LimitBatch {
    /// The time of the batch.
    pub now_ns: u64,
    /// The rate of the device in units per second; 0 while it is unknown.
    pub rate_per_s: u64,
    /// Units completed: at most `in_flight`, and 0 only to close a reap with `more`.
    pub units: u32,
    /// Units in flight before the batch.
    pub in_flight: u32,
    /// Units of the object that was queued last.
    pub last_object: u32,
    /// Times that there was something to send and no room, wrapping.
    pub times_blocked: u32,
    /// The reap stopped at its budget with completions pending.
    pub more: bool,
}

/// A limit of the program's own, as functions. They must not call the limit that they belong to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LimitFunctions {
    /// Passed to each function. It must stay valid as long as the limit is used.
    pub context: *mut c_void,
    /// Returns the current limit, in units. One more object may be queued while it is not exceeded.
    pub limit: Option<unsafe extern "C" fn(context: *mut c_void) -> u32>,
    /// Processes a completion batch. Returns the limit from now on.
    pub completed:
        Option<unsafe extern "C" fn(context: *mut c_void, batch: *const LimitBatch) -> u32>,
    /// Forgets all history: nothing is in flight any more.
    pub reset: Option<unsafe extern "C" fn(context: *mut c_void, now_ns: u64)>,
    /// It counts packets, not bytes.
    pub in_packets: bool,
}

/// The rule of [`LimitFunctions`], none of which is null.
struct Functions {
    context: *mut c_void,
    limit: unsafe extern "C" fn(*mut c_void) -> u32,
    completed: unsafe extern "C" fn(*mut c_void, *const LimitBatch) -> u32,
    reset: unsafe extern "C" fn(*mut c_void, u64),
    in_packets: bool,
}

impl taut_path::Limit for Functions {
    fn unit(&self) -> Unit {
        match self.in_packets {
            true => Unit::Packets,
            false => Unit::Bytes,
        }
    }

    fn limit(&self) -> u32 {
        // SAFETY: the promise of `taut_limit_init_functions`' caller.
        unsafe { (self.limit)(self.context) }
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        let batch = LimitBatch {
            now_ns: batch.now_ns,
            rate_per_s: batch.rate_per_s,
            units: batch.units,
            in_flight: batch.in_flight,
            last_object: batch.last_object,
            times_blocked: batch.times_blocked,
            more: batch.more_pending,
        };
        // SAFETY: the promise of `taut_limit_init_functions`' caller.
        unsafe { (self.completed)(self.context, &raw const batch) }
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            rate: true,
            ..Needs::NOTHING
        }
    }

    fn reset(&mut self, now_ns: u64) {
        // SAFETY: the promise of `taut_limit_init_functions`' caller.
        unsafe { (self.reset)(self.context, now_ns) }
    }
}

/// Creates a limit of the program's own in `memory`, which is then the `taut_limit`.
/// `TAUT_LIMIT_BYTES_MOST` bytes are enough. It allocates nothing.
///
/// # Safety
/// `memory` points to `bytes` bytes of the caller; `functions` points to a `taut_limit_functions`,
/// whose functions may be called with its context from any thread that calls the limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_init_functions(
    memory: *mut c_void,
    bytes: usize,
    functions: *const LimitFunctions,
    now_ns: u64,
) -> Status {
    if memory.is_null() {
        return Status::Null;
    }
    // SAFETY: the caller's promise.
    let Some(functions) = (unsafe { argument(functions) }) else {
        return Status::Null;
    };
    let (Some(limit), Some(completed), Some(reset)) =
        (functions.limit, functions.completed, functions.reset)
    else {
        return Status::Null;
    };
    let rule = Functions {
        context: functions.context,
        limit,
        completed,
        reset,
        in_packets: functions.in_packets,
    };
    // SAFETY: the caller's promise.
    unsafe { place(memory, bytes, rule, now_ns) }
}
