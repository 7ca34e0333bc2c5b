//! A run over the flows of a deferred list.

use alloc::sync::Arc;

use taut_dql::sync::Ordering;

use super::account::FlowAccount;
use super::deferred::{List, NONE};

/// The accounts that were taken off a list, while they are run. Dropping it puts back those that
/// were not, so that a panic loses none.
pub(super) struct Taken<'a> {
    list: &'a List,
    accounts: &'a [Arc<FlowAccount>],
    first: u32,
    /// The one that is sending.
    sending: Option<&'a FlowAccount>,
}

impl<'a> Taken<'a> {
    /// Takes all that stand on `list`.
    pub(crate) fn new(list: &'a List, accounts: &'a [Arc<FlowAccount>]) -> Self {
        Self {
            list,
            accounts,
            first: list.take(|slot| &accounts[slot as usize].next),
            sending: None,
        }
    }

    /// The next of them. It may be pushed again as soon as its listed mark is taken away.
    pub(crate) fn next(&mut self) -> Option<&'a FlowAccount> {
        if self.first == NONE {
            return None;
        }
        let account = &self.accounts[self.first as usize];
        self.first = account.next.load(Ordering::Relaxed);
        Some(account)
    }

    /// Sends for `account`, which is locked, until no thread marked it in the meantime, and unlocks it.
    pub(crate) fn send(&mut self, account: &'a FlowAccount, mut send: impl FnMut()) {
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
            account.push_to(self.list);
        }
        let Some(account) = self.sending else {
            return;
        };
        // The next run does the work of a mark that is set now.
        while !account.lock.try_unlock() {}
        if account.mark_listed() {
            account.push_to(self.list);
        }
        account.run_ends();
    }
}
