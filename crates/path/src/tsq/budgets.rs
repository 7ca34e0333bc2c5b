//! The table of all budgets.

use alloc::sync::Arc;
use core::fmt;
use core::task::Waker;

use taut_dql::sync::Ordering;

use super::account::FlowAccount;
use super::charges::Charges;
use super::deferred::List;
use super::flow::Flow;
use super::run::Taken;
use super::settings::{Settings, Sizing, Totals};
use super::shared_state::SharedState;

/// The most flows that a table can have.
pub const MAX_FLOWS: u32 = 1 << 20;

/// The budgets of many flows, made once for so many as there may ever be. Clones are the same
/// table.
#[derive(Debug, Clone)]
pub struct Budgets {
    accounts: Arc<[Arc<FlowAccount>]>,
    common: Arc<SharedState>,
}

/// Why a table or a flow could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetsError {
    /// The number of flows asked for is 0 or above [`MAX_FLOWS`].
    Flows(u32),
    /// There is no deferred list, or none of this number.
    List {
        /// The list asked for.
        list: u32,
        /// How many there are.
        lists: u32,
    },
    /// Every slot of the table is taken, by flows or by packets of flows that ended.
    Full {
        /// Slots of the table.
        flows: u32,
    },
    /// The rate-based rule was given no time.
    RateTimeZero,
}

impl fmt::Display for BudgetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flows(flows) => write!(f, "flows is {flows}; allowed: 1 to {MAX_FLOWS}"),
            Self::List { list, lists } => {
                write!(f, "deferred list {list} does not exist; there are {lists}")
            }
            Self::Full { flows } => write!(f, "all {flows} budgets are taken"),
            Self::RateTimeZero => {
                f.write_str("time_ns of the rate rule is 0; it must be at least 1")
            }
        }
    }
}

impl core::error::Error for BudgetsError {}

impl Budgets {
    /// A table for `flows` flows, with a deferred list for each of `wakers`, which wakes the thread
    /// that runs it.
    ///
    /// # Errors
    /// If the number of flows or of lists cannot be, or the settings contradict themselves.
    pub fn new(flows: u32, settings: Settings, wakers: &[Waker]) -> Result<Self, BudgetsError> {
        if !(1..=MAX_FLOWS).contains(&flows) {
            return Err(BudgetsError::Flows(flows));
        }
        if wakers.is_empty() {
            return Err(BudgetsError::List { list: 0, lists: 0 });
        }
        validate(settings)?;
        let common = Arc::new(SharedState::new(settings, wakers));
        let account = |slot| Arc::new(FlowAccount::new(common.clone(), slot));
        Ok(Self {
            accounts: (0..flows).map(account).collect(),
            common,
        })
    }

    /// A budget for a new flow, which is called `tag` where deferred list `list` is run.
    ///
    /// # Errors
    /// If there is no such list, or no slot left.
    pub fn open(&self, tag: u32, list: u32) -> Result<Flow, BudgetsError> {
        let lists = self.common.lists.len() as u32;
        if list >= lists {
            return Err(BudgetsError::List { list, lists });
        }
        let flows = self.accounts.len() as u32;
        let first = self.common.next_slot.load(Ordering::Relaxed);
        let mut slots = (first..flows).chain(0..first.min(flows));
        let slot = slots
            .find(|&slot| self.accounts[slot as usize].try_open(tag, list))
            .ok_or(BudgetsError::Full { flows })?;
        self.common.next_slot.store(slot + 1, Ordering::Relaxed);
        Ok(Flow::new(self.accounts[slot as usize].clone()))
    }

    /// Charges of packets in frames with a number below `frames`. Packets of one pool belong into one
    /// such store.
    pub fn charges(&self, frames: u32) -> Charges {
        Charges::new(self.accounts.clone(), frames)
    }

    /// Changes the global setting; flows that have room by it are put on their lists.
    ///
    /// # Errors
    /// If it contradicts itself; nothing changes.
    pub fn set(&self, settings: Settings) -> Result<(), BudgetsError> {
        validate(settings)?;
        self.common.set(settings);
        for account in self.accounts.iter() {
            account.look();
        }
        Ok(())
    }

    /// The global setting.
    pub fn settings(&self) -> Settings {
        self.common.settings()
    }

    /// For the thread of `list`: calls `send` with the tag of each flow that has room again. A flow
    /// that its owner has locked is left to the owner. Returns the number of flows on the list.
    /// If `send` panics, its flow stands on the list again, behind those that were not run yet.
    pub fn run_deferred(&self, list: u32, mut send: impl FnMut(u32)) -> u32 {
        let Some(list) = self.common.lists.get(list as usize) else {
            return 0;
        };
        let (mut taken, mut run) = (Taken::new(list, &self.accounts), 0);
        while let Some(account) = taken.next() {
            run += 1;
            if !account.run_begins() {
                continue;
            }
            if account.lock.try_lock_or_mark() {
                let tag = account.owner.tag.load(Ordering::Relaxed);
                taken.send(account, || send(tag));
            } else {
                self.common
                    .deferred_to_owner
                    .fetch_add(1, Ordering::Relaxed);
            }
            account.run_ends();
        }
        run
    }

    /// Whether flows stand on `list`.
    pub fn has_deferred(&self, list: u32) -> bool {
        let list = self.common.lists.get(list as usize);
        list.is_some_and(|list| !list.is_empty())
    }

    /// For the thread of `list`, before it sleeps: asks for a wake-up through the list's waker.
    /// Returns false if there is something to run.
    pub fn must_wait(&self, list: u32) -> bool {
        let list = self.common.lists.get(list as usize);
        list.is_none_or(List::must_wait)
    }

    /// Memory that all packets below the sockets hold, in bytes; those of flows that ended too.
    pub fn charged_bytes(&self) -> u64 {
        self.accounts
            .iter()
            .map(|account| account.charged_bytes())
            .sum()
    }

    /// Packets below the sockets.
    pub fn packets(&self) -> u64 {
        let accounts = self.accounts.iter();
        accounts.map(|account| u64::from(account.packets())).sum()
    }

    /// Returns counters over all flows.
    pub fn totals(&self) -> Totals {
        self.common.totals()
    }
}

/// Rejects settings that contradict themselves.
fn validate(settings: Settings) -> Result<(), BudgetsError> {
    match settings.sizing {
        Sizing::Rate { time_ns: 0 } => Err(BudgetsError::RateTimeZero),
        Sizing::Fixed | Sizing::Rate { .. } => Ok(()),
    }
}
