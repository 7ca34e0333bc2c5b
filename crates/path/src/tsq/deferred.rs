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

    /// Takes all slots off the list. Returns the first of them, linked in the order in which they
    /// were pushed.
    fn take(&self, accounts: &[Arc<Account>]) -> u32 {
        let mut youngest = self.head.swap(NONE, Ordering::AcqRel);
        let mut first = NONE;
        while youngest != NONE {
            let next = &accounts[youngest as usize].next;
            let older = next.load(Ordering::Relaxed);
            next.store(first, Ordering::Relaxed);
            first = youngest;
            youngest = older;
        }
        first
    }

    /// For the thread of this list: asks to be woken when there is something on it. Returns false
    /// if there is.
    pub fn must_wait(&self) -> bool {
        self.waiting.must_wait(|| !self.is_empty())
    }
}

/// The accounts that were taken off a list, while they are run. Dropping it puts back those that
/// were not, so that a panic loses none.
pub(super) struct Taken<'a> {
    list: &'a List,
    accounts: &'a [Arc<Account>],
    first: u32,
    /// The one that is sending.
    sending: Option<&'a Account>,
}

impl<'a> Taken<'a> {
    /// Takes all that stand on `list`.
    pub fn new(list: &'a List, accounts: &'a [Arc<Account>]) -> Self {
        Self {
            list,
            accounts,
            first: list.take(accounts),
            sending: None,
        }
    }

    /// The next of them. It may be pushed again as soon as its listed mark is taken away.
    pub fn next(&mut self) -> Option<&'a Account> {
        if self.first == NONE {
            return None;
        }
        let account = &self.accounts[self.first as usize];
        self.first = account.next.load(Ordering::Relaxed);
        Some(account)
    }

    /// Sends for `account`, which is locked, until no thread marked it in the meantime, and unlocks it.
    pub fn send(&mut self, account: &'a Account, mut send: impl FnMut()) {
        self.sending = Some(account);
        send();
        while !account.lock.try_unlock() {
            send();
        }
        self.sending = None;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // First, so that a flow that always panics is not always before them.
        while let Some(account) = self.next() {
            self.list.push(account);
        }
        let Some(account) = self.sending else {
            return;
        };
        // The next run does the work of a mark that is set now.
        while !account.lock.try_unlock() {}
        if account.mark_listed() {
            self.list.push(account);
        }
        account.run_ends();
    }
}
