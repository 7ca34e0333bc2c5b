//! The flows that may send again and have not been told yet.

use alloc::sync::Arc;
use core::task::Waker;

use taut_dql::sync::{AtomicU32, Ordering};

use super::account::Account;
use crate::room::RoomWaker;

/// The end of a list.
const NONE: u32 = u32::MAX;

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
    pub fn new(waker: Waker) -> Self {
        Self {
            head: AtomicU32::new(NONE),
            waiting: RoomWaker::new(waker),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) == NONE
    }

    /// Puts an account on the list, which must be on no list.
    pub fn push(&self, account: &Account) {
        let Account { slot, next, .. } = account;
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            next.store(head, Ordering::Relaxed);
            match self
                .head
                .compare_exchange(head, *slot, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        self.waiting.notify(|| true);
    }

    /// Takes all slots off the list, in the order in which they were pushed.
    pub fn take(&self, accounts: &[Arc<Account>]) -> Chain {
        let mut youngest = self.head.swap(NONE, Ordering::AcqRel);
        let mut first = NONE;
        while youngest != NONE {
            let next = &accounts[youngest as usize].next;
            let older = next.load(Ordering::Relaxed);
            next.store(first, Ordering::Relaxed);
            first = youngest;
            youngest = older;
        }
        Chain { first }
    }

    /// For the thread of this list: asks to be woken when there is something on it. Returns false
    /// if there is.
    pub fn must_wait(&self) -> bool {
        self.waiting.must_wait(|| !self.is_empty())
    }
}

/// Slots that were taken off a list.
pub(super) struct Chain {
    first: u32,
}

impl Chain {
    /// The next of them. It may be pushed again as soon as its listed mark is taken away.
    pub fn next(&mut self, accounts: &[Arc<Account>]) -> Option<u32> {
        let slot = self.first;
        if slot == NONE {
            return None;
        }
        self.first = accounts[slot as usize].next.load(Ordering::Relaxed);
        Some(slot)
    }
}
