//! The state that all flows of a table share.

use alloc::boxed::Box;

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicU32, AtomicUsize, Ordering};

use super::settings::{Settings, Totals};

/// The state that all flows, packets and runners of a table share.
#[derive(Debug)]
pub(super) struct SharedState {
    /// The deferred lists, each with room for the slots of all flows: many threads push, the
    /// thread of a list pops.
    pub lists: Box<[ConcurrentQueue<u32>]>,
    pub settings: Settings,
    /// The slot at which the search for a free one begins.
    pub next_slot: AtomicU32,
    pub throttled: AtomicUsize,
    pub deferred: AtomicUsize,
    pub deferred_to_owner: AtomicUsize,
}

impl SharedState {
    pub(crate) fn new(flows: u32, settings: Settings, lists: u32) -> Self {
        let list = |_| ConcurrentQueue::bounded(flows as usize);
        Self {
            lists: (0..lists).map(list).collect(),
            settings,
            next_slot: AtomicU32::new(0),
            throttled: AtomicUsize::new(0),
            deferred: AtomicUsize::new(0),
            deferred_to_owner: AtomicUsize::new(0),
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            throttled: self.throttled.load(Ordering::Relaxed) as u64,
            deferred: self.deferred.load(Ordering::Relaxed) as u64,
            deferred_to_owner: self.deferred_to_owner.load(Ordering::Relaxed) as u64,
        }
    }
}
