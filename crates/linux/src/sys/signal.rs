//! Signals that ask a process to end.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::check;

/// The number of the signal that came first; 0 before.
static CAME: AtomicI32 = AtomicI32::new(0);
/// When, in ms.
static CAME_MS: AtomicU64 = AtomicU64::new(0);

/// What comes so soon after the first is the same wish: a terminal, a shell and `timeout` each send to a whole group, so
/// one wish may come several times. A hand that presses twice takes longer.
const ONE_WISH_MS: u64 = 500;

/// Only what may be done in a handler: stores, reading a clock, and two calls that POSIX allows.
extern "C" fn note(signal: libc::c_int) {
    let now_ms = now_ms();
    if CAME.load(Ordering::Relaxed) == 0 {
        CAME_MS.store(now_ms, Ordering::Relaxed);
        CAME.store(signal, Ordering::Relaxed);
    } else if now_ms.saturating_sub(CAME_MS.load(Ordering::Relaxed)) >= ONE_WISH_MS {
        // SAFETY: both may be called in a handler. The signal is blocked until it returns, and then ends the process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

fn now_ms() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live `timespec`, and a handler may ask for the time. It cannot fail: the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000
}

/// Notes `signal` instead of ending the process; one that comes later ends it.
pub(crate) fn note_once(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: `sigaction` is plain old data for which all zeroes is valid: no flags, no mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // Calls that wait go on; whoever is asked to end looks for it.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the pointer is to a live `sigaction`, whose handler stores an atomic and no more.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }).map(drop)
}

/// The noted signal.
pub(crate) fn noted() -> Option<libc::c_int> {
    Some(CAME.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
