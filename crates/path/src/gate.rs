//! The one gate between a side that is held back and the side that makes room.

use taut_dql::sync::{AtomicBool, Ordering, fence};

/// A stop flag that two threads can use without losing a wake-up.
///
/// The side that is held back closes the gate and **looks again**; the side that makes room
/// publishes the room first and then looks at the gate. With a full fence between the write and
/// the look on both sides, at least one of them sees the other's write. Without the fences both
/// can miss it, and the queue stays stopped for ever.
///
/// Used for all four: stack stop (no room below the limit), driver stop (ring full), the waker of
/// a sender that waits, and the throttle of a small queue.
///
/// `FENCED` exists for the model check only: `Gate<false>` is the broken version that the check
/// must catch.
#[derive(Debug)]
pub struct Gate<const FENCED: bool = true> {
    closed: AtomicBool,
}

impl<const FENCED: bool> Gate<FENCED> {
    /// An open gate.
    pub fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
        }
    }

    /// Whether the gate is closed. The other side may open it at any time, never close it.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// For the side that is held back: closes the gate unless `has_room` says, on the second look,
    /// that there is room after all. Returns whether the gate stays closed; if so, the other side
    /// will find it closed when it makes room.
    pub fn close_unless(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.closed.store(true, Ordering::Release);
        Self::full_fence();
        if has_room() {
            self.closed.store(false, Ordering::Release);
            return false;
        }
        true
    }

    /// For the side that makes room, after the room was published: opens a closed gate if
    /// `has_room` confirms it. Returns whether this call opened it; if so, the caller schedules
    /// the side that was held back.
    pub fn open_if(&self, has_room: impl FnOnce() -> bool) -> bool {
        Self::full_fence();
        self.closed.load(Ordering::Acquire) && has_room() && self.open()
    }

    /// Opens the gate without a look at the room (after a reset). Returns whether it was closed.
    pub fn open(&self) -> bool {
        self.closed.swap(false, Ordering::AcqRel)
    }

    fn full_fence() {
        if FENCED {
            fence(Ordering::SeqCst);
        }
    }
}

impl<const FENCED: bool> Default for Gate<FENCED> {
    fn default() -> Self {
        Self::new()
    }
}
