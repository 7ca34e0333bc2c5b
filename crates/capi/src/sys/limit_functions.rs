//! A limit with functions and state of the program.

use core::ffi::c_void;

use super::limit::place;
use super::own_limit::{Context, LimitFunctions, OwnLimit};
use super::placed::argument;
use super::status::Status;

/// Creates a custom limit in `memory`, which is then the `taut_limit`. `TAUT_LIMIT_BYTES_MAX`
/// bytes are enough. It allocates nothing.
///
/// # Safety
/// `memory` points to `bytes` bytes of the caller; `functions` points to a `taut_limit_functions`,
/// whose functions can be called with its context from any thread that calls the limit.
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
    // SAFETY: guaranteed by the caller.
    let Some(functions) = (unsafe { argument(functions) }) else {
        return Status::Null;
    };
    let Some(callbacks) = functions.callbacks() else {
        return Status::Null;
    };
    if functions.limit.is_none() || functions.reset.is_none() {
        return Status::Null;
    }
    let rule = OwnLimit::new(callbacks, Context(functions.context));
    // SAFETY: guaranteed by the caller.
    unsafe { place(memory, bytes, rule, now_ns) }
}
