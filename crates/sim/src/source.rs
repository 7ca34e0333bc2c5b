//! What senders have in common, on a bench and in a world.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// What a sender does that is told "no buffer space".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Sleeps at least so long, to the next tick of the clock.
    Sleep {
        /// What it asks for, in ns.
        sleep_ns: u64,
        /// The clock's tick, in ns; 0 is a clock without ticks.
        tick_ns: u64,
    },
    /// Tries again after this, in ns, all of it on the core; at least 1.
    Spin(u64),
    /// Waits to be woken when there is room.
    Wait,
}

/// How a refused sender goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It tries again at this time, in ns. The send failed.
    SleepUntil(u64),
    /// It tries again when it had the core for so long, in ns. The send failed.
    Spin(u64),
    /// It asks to be woken. It asks first: what finds no room was never sent, so no send failed.
    Wait,
}

impl WhenFull {
    /// What it does that is refused at `now_ns`.
    pub(crate) fn refused(self, now_ns: u64) -> Refused {
        match self {
            Self::Sleep { sleep_ns, tick_ns } => {
                let at_ns = now_ns.saturating_add(sleep_ns.max(1));
                Refused::SleepUntil(match tick_ns {
                    0 => at_ns,
                    // Strictly later: a clock cannot know how far into its tick the sleep began.
                    tick_ns => (at_ns / tick_ns).saturating_add(1).saturating_mul(tick_ns),
                })
            }
            Self::Spin(retry_ns) => Refused::Spin(retry_ns.max(1)),
            Self::Wait => Refused::Wait,
        }
    }
}

/// A waker that leaves a note.
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
