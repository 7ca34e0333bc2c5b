//! Wakes a sender when there is room again.

use core::task::Waker;
#[cfg(feature = "std")]
use std::{
    sync::{Mutex, PoisonError},
    thread::Thread,
};

use crate::gate::Gate;
use crate::sharing::{Sharing, Word};

#[cfg(all(test, loom))]
mod models;

/// Lets a sender without room sleep until there is some.
///
/// One sender waits at a time. The waker can be an eventfd, a parked thread or a task of an async
/// runtime.
#[derive(Debug)]
pub(crate) struct RoomWaker<M: Sharing> {
    waiting: Gate<M>,
    waker: Waker,
    wakeups: M::Word,
    /// A thread that parks until the next notification.
    #[cfg(feature = "std")]
    parked: Mutex<Option<Thread>>,
}

impl<M: Sharing> RoomWaker<M> {
    /// A notification that uses `waker`.
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            waiting: Gate::new(),
            waker,
            wakeups: M::Word::new(0),
            #[cfg(feature = "std")]
            parked: Mutex::default(),
        }
    }

    /// For the sender: arms the waker, then checks `has_room` again. Returns `true` if the sender
    /// must sleep; exactly one wake-up follows. If it returns `false`, a spurious wake-up might
    /// follow, because the room appeared at the same time.
    pub(crate) fn must_wait(&self, has_room: impl FnOnce() -> bool) -> bool {
        self.waiting.close_unless(has_room)
    }

    /// For the thread that made room, after it published the room: wakes the sender if it waits.
    /// Returns `true` if it was woken.
    #[inline]
    pub(crate) fn notify(&self) -> bool {
        let opened = self.waiting.open_if(|| true);
        if opened {
            self.wake();
        }
        opened
    }

    #[cold]
    fn wake(&self) {
        self.wakeups.add(1);
        self.waker.wake_by_ref();
        #[cfg(feature = "std")]
        if let Some(thread) = self.replace_parked(None) {
            thread.unpark();
        }
    }

    /// Returns the number of wake-ups so far, wrapping.
    pub(crate) fn wakeups(&self) -> u32 {
        self.wakeups.load()
    }

    /// Sets the thread that the next wake-up unparks, in addition to the waker. Call it before
    /// [`must_wait`](Self::must_wait). Returns the previous thread.
    #[cfg(feature = "std")]
    pub(crate) fn replace_parked(&self, thread: Option<Thread>) -> Option<Thread> {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        core::mem::replace(&mut *parked, thread)
    }
}
