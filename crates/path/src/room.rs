//! Wakes a sender when there is room again.

use core::task::Waker;

use crate::gate::Gate;
use crate::sharing::{Sharing, Threads, Word};

/// Lets a sender without room sleep until there is some.
///
/// One sender waits at a time. The waker can be an eventfd, a parked thread or a task of an async
/// runtime.
#[derive(Debug)]
pub struct RoomWaker<M: Sharing = Threads> {
    waiting: Gate<M>,
    waker: Waker,
    wakeups: M::Word,
}

impl<M: Sharing> RoomWaker<M> {
    /// A notification that uses `waker`.
    pub fn new(waker: Waker) -> Self {
        Self {
            waiting: Gate::new(),
            waker,
            wakeups: M::Word::new(0),
        }
    }

    /// For the sender: arms the waker, then checks `has_room` again. Returns `true` if the sender
    /// must sleep; exactly one wake-up follows. If it returns `false`, a spurious wake-up might
    /// follow, because the room appeared at the same time.
    pub fn must_wait(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.waiting.close_unless(has_room)
    }

    /// For the thread that made room, after it published the room: wakes the sender if it waits and
    /// `has_room` returns `true`. Returns `true` if it was woken.
    pub fn notify(&self, has_room: impl FnOnce() -> bool) -> bool {
        let opened = self.waiting.open_if(has_room);
        if opened {
            self.wakeups.add(1);
            self.waker.wake_by_ref();
        }
        opened
    }

    /// Returns the number of wake-ups so far, wrapping.
    pub fn wakeups(&self) -> u32 {
        self.wakeups.load()
    }
}
