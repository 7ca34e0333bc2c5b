//! A limit with functions and state of the program.

use core::ffi::c_void;

use super::callbacks::{Context, LimitFunctions, OwnLimit};
use super::placed_limit::place;
use crate::sys::placed::argument;
use crate::sys::status::Status;

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
    // SAFETY: guaranteed by the caller.
    let functions = unsafe { argument(functions) }
        .filter(|it| it.limit.is_some() && it.reset.is_some() && !memory.is_null());
    let rule = functions.and_then(|it| Some(OwnLimit::new(it.callbacks()?, Context(it.context))));
    match rule {
        // SAFETY: guaranteed by the caller.
        Some(rule) => unsafe { place(memory, bytes, rule, now_ns) },
        None => Status::Null,
    }
}
