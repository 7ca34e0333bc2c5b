//! Signals that ask a process to end.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::check;
use super::sched::clock_ns;

/// The number of the signal that came first; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);
/// When, in ns.
static CAME_NS: AtomicU64 = AtomicU64::new(0);

/// What comes so soon after the first is the same wish: a terminal, a shell and `timeout` each send
/// to a whole group, so one wish may come several times. A hand that presses twice takes longer.
const ONE_WISH_NS: u64 = 500_000_000;

/// Only what may be done in a handler: stores, reading a clock, and two calls that POSIX allows.
extern "C" fn note(signal: libc::c_int) {
    let now_ns = clock_ns(libc::CLOCK_MONOTONIC);
    if CAME.load(Ordering::Relaxed) == 0 {
        CAME_NS.store(now_ns, Ordering::Relaxed);
        CAME.store(signal, Ordering::Relaxed);
    } else if now_ns.saturating_sub(CAME_NS.load(Ordering::Relaxed)) >= ONE_WISH_NS {
        // SAFETY: both may be called in a handler. The signal is blocked until it returns, and then
        // ends the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Notes `signal` instead of ending the process; one that comes later ends it.
pub(crate) fn note_first(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: `sigaction` is plain old data for which all zeroes is valid: no flags, no mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // Calls that wait go on; whoever is asked to end looks for it.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the pointer is to a live `sigaction`, whose handler does only what may be done in
    // one.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }).map(drop)
}

/// The noted signal.
pub(crate) fn noted() -> Option<libc::c_int> {
    Some(CAME.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
