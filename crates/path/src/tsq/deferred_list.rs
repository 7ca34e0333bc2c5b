//! Lists of flows that have room again and wait for their thread.

use taut_dql::sync::{AtomicU32, Ordering};

/// The end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// One thread's deferred list: many threads push, its thread takes all.
///
/// A linked list of slot numbers. All entries are taken at once and none is removed from the
/// middle, so a slot number that returns causes no ABA problem.
#[derive(Debug)]
pub(super) struct DeferredList {
    head: AtomicU32,
}

impl DeferredList {
    pub(crate) fn new() -> Self {
        Self {
            head: AtomicU32::new(NONE),
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
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Removes all slots and returns the oldest, from which they are linked in the order in which
    /// they were pushed. `link` returns the link of a slot.
    pub(crate) fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
        // The list is LIFO. Reverse its links, so that flows run in the order in which they got
        // room.
        let mut newest = self.head.swap(NONE, Ordering::AcqRel);
        let mut first = NONE;
        while newest != NONE {
            let next = link(newest);
            let older = next.load(Ordering::Relaxed);
            next.store(first, Ordering::Relaxed);
            first = newest;
            newest = older;
        }
        first
    }
}
