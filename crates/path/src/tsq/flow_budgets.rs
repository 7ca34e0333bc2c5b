//! The table of all budgets.

use alloc::sync::Arc;

use taut_dql::sync::{AtomicUsize, Ordering};

use super::account::{FlowAccount, SharedState};
use super::charges::Charges;
use super::flow::Flow;
use super::settings::{Settings, Sizing, Totals};

/// The maximum number of flows of a table.
pub const MAX_FLOWS: u32 = 1 << 20;

/// The table of the budgets of many flows, allocated once for their maximum number. A clone is the
/// same table. Not related to the [budget](crate::budget) that queues share.
#[derive(Debug, Clone)]
pub struct FlowBudgets {
    accounts: Arc<[Arc<FlowAccount>]>,
    common: Arc<SharedState>,
}

/// The reason why a table or a flow could not be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlowBudgetsError {
    /// The number of flows is 0 or above [`MAX_FLOWS`].
    #[error("flows is {0}; allowed: 1 to {max}", max = MAX_FLOWS)]
    Flows(u32),
    /// Every slot of the table is taken, by flows or by packets of ended flows.
    #[error("all {flows} budgets are in use")]
    Full {
        /// Slots of the table.
        flows: u32,
    },
    /// The time of the rate-based sizing is 0.
    #[error("time_ns is 0; allowed: 1 or more")]
    RateTimeZero,
}

impl FlowBudgets {
    /// Creates a table for `flows` flows with a deferred list, which one thread runs.
    ///
    /// The thread that runs the list waits for a thread that adds to it, which takes some
    /// instructions. So it must not preempt that thread on the same processor, as an interrupt
    /// handler does.
    ///
    /// # Errors
    /// If the number of flows is out of range, or the settings are invalid.
    pub fn new(flows: u32, settings: Settings) -> Result<Self, FlowBudgetsError> {
        if !(1..=MAX_FLOWS).contains(&flows) {
            return Err(FlowBudgetsError::Flows(flows));
        }
        if settings.sizing == (Sizing::Rate { time_ns: 0 }) {
            return Err(FlowBudgetsError::RateTimeZero);
        }
        let common = Arc::new(SharedState::new(flows, settings));
        let account = |slot| Arc::new(FlowAccount::new(common.clone(), slot));
        Ok(Self {
            accounts: (0..flows).map(account).collect(),
            common,
        })
    }

    /// Creates a budget for a new flow. `tag` identifies it when the deferred list is run.
    ///
    /// # Errors
    /// If all slots are used.
    pub fn open(&self, tag: u32) -> Result<Flow, FlowBudgetsError> {
        let flows = self.accounts.len() as u32;
        let first = self.common.next_slot.load(Ordering::Relaxed);
        let mut slots = (first..flows).chain(0..first.min(flows));
        let slot = slots
            .find(|&slot| self.accounts[slot as usize].try_open(tag))
            .ok_or(FlowBudgetsError::Full { flows })?;
        self.common.next_slot.store(slot + 1, Ordering::Relaxed);
        Ok(Flow::new(self.accounts[slot as usize].clone()))
    }

    /// Creates a store for the charges of packets in frames with a number below `frames`. All
    /// packets of a pool must use the same store.
    pub fn charges(&self, frames: u32) -> Charges {
        Charges::new(self.accounts.clone(), frames)
    }

    /// Runs the deferred list: calls `send` with the tag of each flow that has room again. A flow
    /// that its owner has locked is left to the owner. Returns the number of flows on the list. If
    /// `send` panics, its flow is put on the list again, behind those that were not run yet.
    pub fn run_deferred(&self, mut send: impl FnMut(u32)) -> u32 {
        let list = &self.common.list;
        let mut run = 0;
        // A flow that is listed in the meantime belongs to the next run.
        for _ in 0..list.len() {
            let Ok(slot) = list.pop() else { break };
            run += 1;
            let account = &self.accounts[slot as usize];
            if !account.run_begins() {
                continue;
            }
            if account.lock.try_lock_or_mark() {
                let tag = account.tag.load(Ordering::Relaxed);
                SendingFlow::run(account, || send(tag));
            } else {
                self.common
                    .deferred_to_owner
                    .fetch_add(1, Ordering::Relaxed);
            }
            account.run_ends();
        }
        run
    }

    /// Returns `true` if flows are on the deferred list. A thread that frees packets calls it
    /// afterwards, and wakes the thread that runs the list.
    pub fn has_deferred(&self) -> bool {
        !self.common.list.is_empty()
    }

    /// Returns the memory of all packets below the sockets, in bytes, including those of ended
    /// flows.
    pub fn charged_bytes(&self) -> u64 {
        self.accounts
            .iter()
            .map(|account| account.charged_bytes())
            .sum()
    }

    /// Returns the packets below the sockets.
    pub fn packets(&self) -> u64 {
        let accounts = self.accounts.iter();
        accounts.map(|account| u64::from(account.packets())).sum()
    }

    /// Returns counters over all flows.
    pub fn totals(&self) -> Totals {
        let total = |counter: &AtomicUsize| counter.load(Ordering::Relaxed) as u64;
        Totals {
            throttled: total(&self.common.throttled),
            deferred: total(&self.common.deferred),
            deferred_to_owner: total(&self.common.deferred_to_owner),
        }
    }
}

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
