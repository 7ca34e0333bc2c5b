//! Telling a sender that there is room again.

use core::task::Waker;

use crate::gate::Gate;
use crate::sharing::{Sharing, Threads, Word};

/// Lets a sender that found no room sleep until there is some.
///
/// One sender waits at a time. The waker is whatever wakes it: an eventfd, a parked thread, a task
/// of an async runtime.
#[derive(Debug)]
pub struct RoomWaker<M: Sharing = Threads> {
    waiting: Gate<M>,
    waker: Waker,
    wakeups: M::Word,
}

impl<M: Sharing> RoomWaker<M> {
    /// A notification that wakes through `waker`.
    pub fn new(waker: Waker) -> Self {
        Self {
            waiting: Gate::new(),
            waker,
            wakeups: M::Word::new(0),
        }
    }

    /// For the sender: asks to be woken, unless `has_room` says on the second look that it need
    /// not wait. Returns whether to sleep; each such answer is followed by exactly one wake-up. One
    /// may come for nothing when the answer was no and the room came just then.
    pub fn must_wait(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.waiting.close_unless(has_room)
    }

    /// For whoever made room, after publishing it: wakes the sender if it waits and `has_room`
    /// confirms the room. Returns whether it was woken.
    pub fn notify(&self, has_room: impl FnOnce() -> bool) -> bool {
        let opened = self.waiting.open_if(has_room);
        if opened {
            self.wakeups.add(1);
            self.waker.wake_by_ref();
        }
        opened
    }

    /// Wake-ups so far, wrapping.
    pub fn wakeups(&self) -> u32 {
        self.wakeups.load()
    }
}
