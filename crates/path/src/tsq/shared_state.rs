//! The state that all flows of a table share.

use alloc::boxed::Box;
use core::task::Waker;

use taut_dql::sync::{AtomicU32, AtomicUsize, Ordering};

use super::deferred_list::DeferredList;
use super::settings::{Settings, Sizing, Totals};

/// The state that all flows, packets and runners of a table share.
#[derive(Debug)]
pub(super) struct SharedState {
    pub lists: Box<[DeferredList]>,
    limit_bytes: AtomicU32,
    /// 0 stands for [`Sizing::Fixed`].
    rate_time_ns: AtomicU32,
    /// The slot at which the search for a free one begins.
    pub next_slot: AtomicU32,
    pub throttled: AtomicUsize,
    pub deferred: AtomicUsize,
    pub deferred_to_owner: AtomicUsize,
}

impl SharedState {
    /// Creates a deferred list for each of `wakers`.
    pub(crate) fn new(settings: Settings, wakers: &[Waker]) -> Self {
        let state = Self {
            lists: wakers.iter().cloned().map(DeferredList::new).collect(),
            limit_bytes: AtomicU32::new(0),
            rate_time_ns: AtomicU32::new(0),
            next_slot: AtomicU32::new(0),
            throttled: AtomicUsize::new(0),
            deferred: AtomicUsize::new(0),
            deferred_to_owner: AtomicUsize::new(0),
        };
        state.set(settings);
        state
    }

    /// Changes the settings.
    pub(crate) fn set(&self, settings: Settings) {
        let rate_time_ns = match settings.sizing {
            Sizing::Fixed => 0,
            Sizing::Rate { time_ns } => time_ns,
        };
        self.rate_time_ns.store(rate_time_ns, Ordering::Relaxed);
        self.limit_bytes
            .store(settings.limit_bytes, Ordering::Relaxed);
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            sizing: match self.rate_time_ns.load(Ordering::Relaxed) {
                0 => Sizing::Fixed,
                time_ns => Sizing::Rate { time_ns },
            },
            limit_bytes: self.limit_bytes.load(Ordering::Relaxed),
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
