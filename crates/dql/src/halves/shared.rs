//! The state that the two threads of a queue share.

use crate::Config;
use crate::ledger::Ledger;
use crate::sharing::Threads;
use crate::sync::{AtomicBool, Ordering};

/// The state that the two threads of a queue share; [`split`](crate::split) creates the halves.
///
/// Each number has one writer. The numbers of the sender and those of the completer are on separate
/// cache lines, so that the stores of one thread do not invalidate the other's line. Any third
/// thread can read [`limit`](Shared::limit) and [`in_flight`](Shared::in_flight). The whole state
/// is [`Completer::snapshot`](crate::Completer::snapshot).
#[derive(Debug)]
pub struct Shared {
    pub(super) ledger: Ledger<Threads>,
    split: AtomicBool,
}

impl Shared {
    /// The shared part of a queue that is not split yet. It can be a `static`.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Shared {
            ledger: Ledger::threads(Config::DEFAULT.limit),
            split: AtomicBool::new(false),
        }
    }

    /// The shared part of a queue that is not split yet (loom's atomics cannot be `const`).
    #[cfg(loom)]
    pub fn new() -> Self {
        Shared {
            ledger: Ledger::new(Config::DEFAULT.limit),
            split: AtomicBool::new(false),
        }
    }

    /// Returns `true` for the first caller only.
    pub(super) fn claim(&self) -> bool {
        !self.split.swap(true, Ordering::AcqRel)
    }

    /// Returns the limit that the sender applies, in units. While the completer runs, the result
    /// can be too high by one completion batch.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.ledger.limit()
    }

    /// Returns the units queued and not yet completed, below 2^31. Both halves can change it at any
    /// time. It is never negative, but might combine a current total queued with an older total
    /// completed.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.ledger.in_flight()
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}
