//! A flow of a deferred list while it sends.

use super::account::FlowAccount;

/// A flow that sends under its lock. Dropping it, after a panic, unlocks and lists it again.
pub(super) struct SendingFlow<'a>(&'a FlowAccount);

impl<'a> SendingFlow<'a> {
    /// Sends for `account`, which is locked, until no thread marked it in the meantime, and unlocks
    /// it.
    pub(super) fn run(account: &'a FlowAccount, mut send: impl FnMut()) {
        let sending = Self(account);
        send();
        while !account.lock.try_unlock() {
            send();
        }
        core::mem::forget(sending);
    }
}

impl Drop for SendingFlow<'_> {
    fn drop(&mut self) {
        // The next run processes a mark that is set from now on.
        while !self.0.lock.try_unlock() {}
        if self.0.mark_listed() {
            self.0.push();
        }
        self.0.run_ends();
    }
}
