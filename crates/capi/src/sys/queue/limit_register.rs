//! Limits that a program registers under a name.

use core::ffi::{CStr, c_char};
use std::sync::{PoisonError, RwLock};

use taut_path::limit::{LimitVisitor, NamedLimit, ParseLimitError, limits_help, visit_limit};
use taut_path::{AnyLimit, NameError, Registry};

use super::callbacks::{LimitFunctions, Registered, TAUT_LIMIT_STATE_BYTES_MAX};
use super::text::ErrorText;
use crate::sys::placed::argument;
use crate::sys::status::Status;

/// The limits added by `taut_limit_register`. Their names are in the registry of the process.
static REGISTERED: RwLock<Vec<&'static Registered>> = RwLock::new(Vec::new());

/// As [`visit_limit`], including the limits registered from C.
pub(super) fn visit<V: LimitVisitor>(spec: &str, visitor: V) -> Result<V::Output, ParseLimitError> {
    let name = spec.split(':').next();
    // Copied, because the visitor calls `begin`, which might register another limit.
    let known = (REGISTERED.read().unwrap_or_else(PoisonError::into_inner))
        .iter()
        .find(|known| Some(&*known.name) == name)
        .copied();
    match known {
        Some(known) => known.visit(spec, visitor),
        // The registry's error lists all names.
        None => {
            visit_limit(spec, visitor).map_err(|why| spec.parse::<AnyLimit>().err().unwrap_or(why))
        }
    }
}

/// Puts a limit on the heap, for a queue.
struct Boxed;

impl LimitVisitor for Boxed {
    type Output = AnyLimit;

    fn visit<L: NamedLimit + Clone + 'static>(self, limit: L) -> AnyLimit {
        AnyLimit::new(limit)
    }
}

fn register(new: &'static Registered) -> Result<(), NameError> {
    // Held over both steps, so that a name in use can be resolved.
    let mut known = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let mut registry = Registry::new();
    registry.register_limit(new.info(), |argument| {
        let spec = [Some(&*new.name), argument];
        let spec = spec.into_iter().flatten().collect::<Vec<_>>().join(":");
        new.visit(&spec, Boxed).map_err(|why| why.to_string())
    })?;
    registry.install()?;
    known.push(new);
    Ok(())
}

/// Registers a custom limit under `name`. Every function of this header then accepts the name as it
/// accepts built-in ones: also as "name:2ms", and as "name:packets" unless the limit counts
/// packets. `help` describes it in one line. Both texts and `functions` are copied.
///
/// Each limit that is created from the name has a state of its own, which is passed to each
/// function: `state_bytes` bytes, at most `TAUT_LIMIT_STATE_BYTES_MAX`, zeroed, and aligned for
/// any type. The state might move between two calls. Memory that it points to is not freed. With 0
/// bytes, the pointer must not be used.
///
/// Only `completed` is required. If `limit` is null, the limit is 0 after `begin` and `reset`. If
/// `reset` is null, a reset zeroes the state and calls `begin`.
///
/// Any thread can call it, also while others create limits. A registered limit stays until the
/// process ends. Returns `TAUT_STATUS_NULL` if an argument or `completed` is null,
/// `TAUT_STATUS_STATE_TOO_LARGE`, `TAUT_STATUS_BAD_NAME` or `TAUT_STATUS_NAME_TAKEN`; then nothing
/// was registered.
///
/// # Safety
/// `name` and `help` are strings; `functions` points to a `taut_limit_functions`, whose functions
/// can be called with such a state from any thread that uses a limit of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_register(
    name: *const c_char,
    help: *const c_char,
    functions: *const LimitFunctions,
    state_bytes: usize,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let Some(functions) = (unsafe { argument(functions) }) else {
        return Status::Null;
    };
    if name.is_null() || help.is_null() || functions.completed.is_none() {
        return Status::Null;
    }
    if state_bytes > TAUT_LIMIT_STATE_BYTES_MAX {
        return Status::StateTooLarge;
    }
    // SAFETY: not null, and strings as the caller guarantees.
    let (name, help) = unsafe { (CStr::from_ptr(name), CStr::from_ptr(help)) };
    let new = Box::into_raw(Box::new(Registered {
        name: name.to_string_lossy().into_owned(),
        help: help.to_string_lossy().into_owned(),
        functions,
        state_bytes,
    }));
    // SAFETY: it was just created, and is freed only if nothing kept it.
    let status = match register(unsafe { &*new }) {
        Ok(()) => return Status::Ok,
        Err(NameError::Taken(_)) => Status::NameTaken,
        Err(NameError::Invalid(_)) => Status::BadName,
    };
    // SAFETY: from `Box::into_raw`, and no registry took it.
    drop(unsafe { Box::from_raw(new) });
    status
}

/// Writes help for every limit to `text`, truncated to `text_bytes` including the terminating NUL:
/// one line for each, its name first. Returns the bytes that the whole text needs, including the
/// terminating NUL. `text` can be null. Any thread can call it.
///
/// # Safety
/// `text` is null or points to `text_bytes` bytes of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_limit_help(text: *mut c_char, text_bytes: usize) -> usize {
    let help = limits_help();
    // SAFETY: guaranteed by the caller.
    unsafe { ErrorText::new(text, text_bytes) }.write(&help);
    help.len() + 1
}
