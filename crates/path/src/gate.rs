//! The gate between a side that is blocked and the side that makes room.

use crate::sharing::{Sharing, Threads, Word};

/// A stop flag for two threads that loses no wake-up.
///
/// The blocked side closes the gate and then **rechecks** the room. The side that makes room
/// publishes it first and then checks the gate. With a full fence between write and read on both
/// sides, at least one side sees the other's write. Without the fences both can miss it, and the
/// queue stays stopped for ever.
///
/// It implements the stack stop (no room below the limit), the driver stop (ring full), the waker
/// of a waiting sender, and the throttle of a small queue. If one thread has both sides (`M` is
/// [`Local`](crate::sharing::Local)), there is no fence and no atomic.
#[derive(Debug, Default)]
pub struct Gate<M: Sharing = Threads> {
    /// 1 if the gate is closed.
    closed: M::Word,
}

impl<M: Sharing> Gate<M> {
    /// An open gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if the gate is closed. The other side can open it at any time, never close
    /// it.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load_acquire() != 0
    }

    /// For the blocked side: closes the gate, unless a recheck with `has_room` finds room. Returns
    /// `true` if the gate stays closed; the other side then finds it closed when it makes room.
    pub fn close_unless(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.closed.store_release(1);
        // Write, fence, read: pairs with the fence in `open_if`, so that at least one of the two
        // sides sees the other's write.
        M::full_fence();
        if has_room() {
            self.closed.store_release(0);
            return false;
        }
        true
    }

    /// For the side that makes room, after it published the room: opens a closed gate if `has_room`
    /// returns `true`. Returns `true` if this call opened it; the caller then schedules the blocked
    /// side.
    pub fn open_if(&self, has_room: impl FnOnce() -> bool) -> bool {
        M::full_fence();
        self.open_if_fenced(has_room)
    }

    /// As [`open_if`](Self::open_if), for a caller that has published the room and issued a full
    /// fence: one fence is enough for several gates.
    #[inline]
    pub(crate) fn open_if_fenced(&self, has_room: impl FnOnce() -> bool) -> bool {
        // The read of the gate is the cheapest test. `open` is an exchange, so only one thread
        // opens the gate and schedules the blocked side.
        self.is_closed() && has_room() && self.open()
    }

    /// Opens the gate without a check of the room (after a reset). Returns `true` if it was closed.
    pub fn open(&self) -> bool {
        self.closed.clear_one()
    }
}
