//! A run over the flows of a deferred list.

use alloc::sync::Arc;

use taut_dql::sync::Ordering;

use super::account::FlowAccount;
use super::deferred_list::{DeferredList, NONE};

/// The accounts that were taken off a list, while they are run. Dropping it lists the remaining
/// ones again, so that a panic loses none.
pub(super) struct Taken<'a> {
    list: &'a DeferredList,
    accounts: &'a [Arc<FlowAccount>],
    first: u32,
    /// The account that is sending.
    sending: Option<&'a FlowAccount>,
}

impl<'a> Taken<'a> {
    /// Takes all accounts on `list`.
    pub(crate) fn new(list: &'a DeferredList, accounts: &'a [Arc<FlowAccount>]) -> Self {
        Self {
            list,
            accounts,
            first: list.take(|slot| &accounts[slot as usize].next),
            sending: None,
        }
    }

    /// Returns the next account. It can be pushed again as soon as its listed flag is cleared.
    pub(crate) fn next(&mut self) -> Option<&'a FlowAccount> {
        if self.first == NONE {
            return None;
        }
        let account = &self.accounts[self.first as usize];
        self.first = account.next.load(Ordering::Relaxed);
        Some(account)
    }

    /// Sends for `account`, which is locked, until no thread marked it in the meantime, and unlocks
    /// it.
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
        // List the others first, so that a flow that always panics does not always precede them.
        while let Some(account) = self.next() {
            account.push_to(self.list);
        }
        let Some(account) = self.sending else {
            return;
        };
        // The next run processes a mark that is set from now on.
        while !account.lock.try_unlock() {}
        if account.mark_listed() {
            account.push_to(self.list);
        }
        account.run_ends();
    }
}
