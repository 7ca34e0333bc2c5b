//! The owner's side of a budget.

use alloc::sync::Arc;

use taut_dql::sync::Ordering;

use super::account::Account;
use crate::packet::Packet;

/// What the owner of a flow is about to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ask {
    /// Memory of the next packet, in bytes.
    pub packet_bytes: u32,
    /// The flow's pacing rate, in bytes per second; only the rate-based rule looks at it.
    pub rate_bytes_per_s: u64,
}

/// What can be seen of a flow. Each field is true, the set is not atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowSnapshot {
    /// Memory below the socket, in bytes.
    pub charged_bytes: u64,
    /// Packets below the socket.
    pub packets: u32,
    /// The limit now, in bytes.
    pub limit_bytes: u64,
    /// It found no room and has not been told of any.
    pub is_throttled: bool,
    /// Times that it was throttled.
    pub throttled: u64,
    /// Times that it was put on its deferred list.
    pub deferred: u64,
}

/// A flow's budget, in the hands of its owner. Dropping it ends the flow; packets below give their
/// charge back to it all the same, and its slot is used again only after the last of them.
#[derive(Debug)]
pub struct Flow {
    account: Arc<Account>,
}

impl Flow {
    pub(super) fn new(account: Arc<Account>) -> Self {
        Self { account }
    }

    /// Whether a packet may go now. If not the flow is throttled: it will stand on its deferred
    /// list when there is room. Ask only when there is something to send. Whoever gives budget back
    /// may turn the answer to yes at any time.
    pub fn may_send(&self, ask: Ask) -> bool {
        let account = &self.account;
        account.ask(ask.packet_bytes, ask.rate_bytes_per_s);
        let was_throttled = account.is_throttled();
        let may = account.may_send(|| account.common.settings());
        if !may && !was_throttled {
            account.common.throttled.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Charges `packet` to this flow, by its `charge_bytes`. One that was charged before is given
    /// back to whom it was taken from.
    pub fn charge(&self, packet: &mut Packet) {
        packet.charge_to(self.account.clone());
    }

    /// The payload that a super-packet should not exceed: half of the limit, so that two are in
    /// flight.
    pub fn largest_packet_bytes(&self) -> u32 {
        self.account.most_bytes(self.account.common.settings()) / 2
    }

    /// Sets a limit for this flow alone, in place of the global one; `None` takes it away.
    pub fn set_limit(&self, limit_bytes: Option<u32>) {
        self.account.set_own_limit(limit_bytes);
        self.account.look();
    }

    /// For an owner who has work on the flow: see [`Hold::take_or_note`](super::Hold::take_or_note).
    pub fn take_or_note(&self) -> bool {
        self.account.hold.take_or_note()
    }

    /// For an owner who took the flow: see [`Hold::let_go`](super::Hold::let_go). If it returns false,
    /// send what can be sent and come back.
    pub fn let_go(&self) -> bool {
        self.account.hold.let_go()
    }

    /// What can be seen of it.
    pub fn snapshot(&self) -> FlowSnapshot {
        let account = &self.account;
        FlowSnapshot {
            charged_bytes: account.charged_bytes(),
            packets: account.packets(),
            limit_bytes: account.limit_bytes(account.common.settings()),
            is_throttled: account.is_throttled(),
            throttled: account.throttled.load(Ordering::Relaxed) as u64,
            deferred: account.deferred.load(Ordering::Relaxed) as u64,
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.account.close();
    }
}
