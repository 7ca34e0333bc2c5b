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

/// The next step of a blocked sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockedAction {
    /// The send failed. The sender tries again at this time, in ns.
    SleepUntil(u64),
    /// The send failed. The sender tries again after it kept the core busy for this time, in ns.
    Spin(u64),
    /// The sender requests a wake-up before it sends, so no send failed.
    Wait,
}

impl WhenFull {
    /// Returns the reaction to a failed send at `now_ns`.
    pub(crate) fn on_blocked(self, now_ns: u64) -> BlockedAction {
        match self {
            Self::Sleep { sleep_ns, tick_ns } => {
                let at_ns = now_ns.saturating_add(sleep_ns.max(1));
                BlockedAction::SleepUntil(match tick_ns {
                    0 => at_ns,
                    // Strictly later, because the sleep can begin anywhere in a tick.
                    tick_ns => (at_ns / tick_ns).saturating_add(1).saturating_mul(tick_ns),
                })
            }
            Self::Spin(retry_ns) => BlockedAction::Spin(retry_ns.max(1)),
            Self::Wait => BlockedAction::Wait,
        }
    }
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
