//! The one gate between a side that is held back and the side that makes room.

use crate::sharing::{Flag, Sharing, Threads};

/// A stop flag that two threads can use without losing a wake-up.
///
/// The side that is held back closes the gate and **looks again**; the side that makes room
/// publishes the room first and then looks at the gate. With a full fence between the write and
/// the look on both sides, at least one of them sees the other's write. Without the fences both
/// can miss it, and the queue stays stopped for ever.
///
/// Used for all four: stack stop (no room below the limit), driver stop (ring full), the waker of
/// a sender that waits, and the throttle of a small queue. Where one thread has both sides (`M` is
/// [`Local`](crate::sharing::Local)) there is no fence and no atomic.
#[derive(Debug)]
pub struct Gate<M: Sharing = Threads> {
    closed: M::Flag,
}

impl<M: Sharing> Gate<M> {
    /// An open gate.
    pub fn new() -> Self {
        Self {
            closed: M::Flag::new(false),
        }
    }

    /// Whether the gate is closed. The other side may open it at any time, never close it.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load()
    }

    /// For the side that is held back: closes the gate unless `has_room` says, on the second look,
    /// that there is room after all. Returns whether the gate stays closed; if so, the other side
    /// will find it closed when it makes room.
    pub fn close_unless(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.closed.store(true);
        M::full_fence();
        if has_room() {
            self.closed.store(false);
            return false;
        }
        true
    }

    /// For the side that makes room, after the room was published: opens a closed gate if
    /// `has_room` confirms it. Returns whether this call opened it; if so, the caller schedules
    /// the side that was held back.
    pub fn open_if(&self, has_room: impl FnOnce() -> bool) -> bool {
        M::full_fence();
        self.open_if_fenced(has_room)
    }

    /// As [`open_if`](Self::open_if), for a caller that published the room and issued a full fence
    /// since: one fence is enough for several gates.
    #[inline]
    pub(crate) fn open_if_fenced(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.closed.load() && has_room() && self.open()
    }

    /// Opens the gate without a look at the room (after a reset). Returns whether it was closed.
    pub fn open(&self) -> bool {
        self.closed.clear()
    }
}

impl<M: Sharing> Default for Gate<M> {
    fn default() -> Self {
        Self::new()
    }
}
