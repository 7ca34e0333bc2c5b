//! The lock of a flow.

use taut_dql::sync::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
mod models;

/// Also of a new lock.
const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and another thread found work in the meantime.
const MARKED: u32 = 2;

/// Ownership lock of a flow. A thread that finds it locked marks it. The owner then processes the
/// flow again before it unlocks, as a socket's owner does.
#[derive(Debug, Default)]
pub(super) struct OwnerLock {
    state: AtomicU32,
}

impl OwnerLock {
    /// Locks the flow, or marks it for its owner. If this returns `true`, do the work and call
    /// [`try_unlock`](Self::try_unlock). Otherwise the owner does the work.
    pub(super) fn try_lock_or_mark(&self) -> bool {
        let mut seen = self.state.load(Ordering::Relaxed);
        loop {
            let next = if seen == FREE { HELD } else { MARKED };
            // Written even if it is marked already: the owner then sees the previous writes of this
            // thread.
            match self
                .state
                .compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return seen == FREE,
                Err(now) => seen = now,
            }
        }
    }

    /// Unlocks, unless the flow was marked. If this returns `false`, the lock is still held: do the
    /// work again and call this again.
    pub(super) fn try_unlock(&self) -> bool {
        let free = self
            .state
            .compare_exchange(HELD, FREE, Ordering::AcqRel, Ordering::Acquire);
        if free.is_err() {
            // Only the owner clears a mark. A swap, to see the previous writes of the marking
            // thread.
            self.state.swap(HELD, Ordering::AcqRel);
        }
        free.is_ok()
    }

    pub(super) fn reset(&self) {
        self.state.store(FREE, Ordering::Release);
    }
}
