//! Handler of signals that end a process.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::check;
use crate::sched::monotonic_ns;

/// The number of the first signal; 0 before.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// Time of the first signal, in ns.
static FIRST_NS: AtomicU64 = AtomicU64::new(0);

/// A signal this soon after the first is a duplicate: a terminal, a shell and `timeout` each send
/// to a whole process group. Pressing the keys twice takes longer.
const DUPLICATE_NS: u64 = 500_000_000;

/// Only async-signal-safe operations: stores, reading a clock, and two calls that POSIX permits.
extern "C" fn note(signal: libc::c_int) {
    let now_ns = monotonic_ns();
    if FIRST.load(Ordering::Relaxed) == 0 {
        FIRST_NS.store(now_ns, Ordering::Relaxed);
        FIRST.store(signal, Ordering::Relaxed);
    } else if now_ns.saturating_sub(FIRST_NS.load(Ordering::Relaxed)) >= DUPLICATE_NS {
        // SAFETY: both are async-signal-safe. The signal is blocked until the handler returns, and
        // then kills the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Records `signal` instead of ending the process; a later one kills it.
pub(crate) fn note_first(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: `sigaction` is plain old data for which all zeroes is valid: no flags, no mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // Blocking calls are restarted; the program polls the recorded signal.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the pointer is to a live `sigaction`, whose handler is async-signal-safe.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }).map(drop)
}

/// Returns the recorded signal.
pub(crate) fn noted() -> Option<libc::c_int> {
    Some(FIRST.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
