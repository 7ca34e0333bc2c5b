//! The flows that may send again and have not been told yet.

use core::task::Waker;

use taut_dql::sync::{AtomicU32, Ordering};

use crate::room::RoomWaker;

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// One thread's deferred list: many push, its thread takes all.
///
/// A chain of slot numbers. Taking all at once is what makes it simple: nothing is ever taken out
/// of the middle, so a slot number that comes back is as good as it was.
#[derive(Debug)]
pub(super) struct List {
    head: AtomicU32,
    waiting: RoomWaker,
}

impl List {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            head: AtomicU32::new(NONE),
            waiting: RoomWaker::new(waker),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) == NONE
    }

    /// Pushes a slot that is on no list, with its link to the next slot.
    pub(crate) fn push(&self, slot: u32, next: &AtomicU32) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            next.store(head, Ordering::Relaxed);
            match self
                .head
                .compare_exchange(head, slot, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        self.waiting.notify(|| true);
    }

    /// Takes all slots off the list; `link` returns the link of a slot. Returns the first of them,
    /// linked in the order in which they were pushed.
    pub(crate) fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
        let mut youngest = self.head.swap(NONE, Ordering::AcqRel);
        let mut first = NONE;
        while youngest != NONE {
            let next = link(youngest);
            let older = next.load(Ordering::Relaxed);
            next.store(first, Ordering::Relaxed);
            first = youngest;
            youngest = older;
        }
        first
    }

    /// For the thread of this list: asks to be woken when there is something on it. Returns false
    /// if there is.
    pub(crate) fn must_wait(&self) -> bool {
        self.waiting.must_wait(|| !self.is_empty())
    }
}
