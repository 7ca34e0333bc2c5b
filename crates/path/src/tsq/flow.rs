//! The owner's side of a budget.

use alloc::sync::Arc;

use super::account::FlowAccount;
use super::settings::SendRequest;

/// The state of a flow. Each field is valid, but the set is not atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowSnapshot {
    /// Memory below the socket, in bytes.
    pub charged_bytes: u64,
    /// Packets below the socket.
    pub packets: u32,
    /// The current limit, in bytes.
    pub limit_bytes: u64,
    /// It found no room and is not on the deferred list yet.
    pub is_throttled: bool,
}

/// A flow's budget, for its owner. Dropping it ends the flow. Packets below the socket keep its
/// slot until the last of them ended.
#[derive(Debug)]
pub struct Flow {
    account: Arc<FlowAccount>,
}

impl Flow {
    pub(super) fn new(account: Arc<FlowAccount>) -> Self {
        Self { account }
    }

    /// Returns `true` if a packet may be sent now. Otherwise the flow is throttled, and is put
    /// on the deferred list when there is room. Call it only with something to send. A release on
    /// another thread can make room at any time.
    pub fn may_send(&self, request: SendRequest) -> bool {
        self.account.set_request(request);
        self.account.may_send()
    }

    /// Returns the recommended maximum payload of a GSO packet, in bytes: half of the configured
    /// limit, so that two are in flight. The pacing rate ([`Sizing::Rate`](super::Sizing::Rate)) is
    /// not considered.
    pub fn max_gso_payload_bytes(&self) -> u32 {
        self.account.common.settings.limit_bytes / 2
    }

    /// Locks the flow for its owner, or marks it. If this returns `true`, send the packets that
    /// may be sent and call [`try_unlock`](Self::try_unlock). Otherwise the thread that has the
    /// lock sends them.
    pub fn try_lock_or_mark(&self) -> bool {
        self.account.lock.try_lock_or_mark()
    }

    /// Unlocks the flow, unless it was marked. If this returns `false`, send the packets that may
    /// be sent and call it again.
    pub fn try_unlock(&self) -> bool {
        self.account.lock.try_unlock()
    }

    pub(super) fn account(&self) -> &FlowAccount {
        &self.account
    }

    /// Returns the current state.
    pub fn snapshot(&self) -> FlowSnapshot {
        let account = &self.account;
        FlowSnapshot {
            charged_bytes: account.charged_bytes(),
            packets: account.packets(),
            limit_bytes: account.limit_bytes(),
            is_throttled: account.is_throttled(),
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.account.close();
    }
}
