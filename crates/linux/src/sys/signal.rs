//! Signals that ask a process to end.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use super::check;

/// The number of the signal that came first; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Only what may be done in a handler: one store.
extern "C" fn note(signal: libc::c_int) {
    CAME.store(signal, Ordering::Relaxed);
}

/// Notes `signal` once instead of ending the process; the next one ends it.
pub(crate) fn note_once(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: `sigaction` is plain old data for which all zeroes is valid: no flags, no mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // Calls that wait go on; whoever is asked to end looks for it.
    action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
    // SAFETY: the pointer is to a live `sigaction`, whose handler stores an atomic and no more.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }).map(drop)
}

/// The noted signal.
pub(crate) fn noted() -> Option<libc::c_int> {
    Some(CAME.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
