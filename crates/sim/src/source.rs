//! Sender behaviour that benches and worlds share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// Reaction of a sender to `ENOBUFS` ("no buffer space").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Sleeps until the first tick after this time.
    Sleep {
        /// The requested sleep, in ns.
        sleep_ns: u64,
        /// Tick of the clock, in ns; 0 is a clock without ticks.
        tick_ns: u64,
    },
    /// Tries again after this time, in ns, during which it keeps the core busy; at least 1.
    Spin(u64),
    /// Waits until it is woken.
    Wait,
}

/// A waker that sets a flag.
#[derive(Debug, Default)]
pub(crate) struct Note(AtomicBool);

impl Note {
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
