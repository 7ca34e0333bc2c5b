//! The settings of the limit, for other threads.

use taut_dql::{Config, MAX_LIMIT};

use super::outcome::Snapshot;
use crate::sharing::{Flag, Sharing, Wide, Word};

/// The settings of the limit. Written by the completer only.
#[derive(Debug)]
pub(super) struct PublishedSettings<M: Sharing> {
    limit: M::Word,
    min_limit: M::Word,
    max_limit: M::Word,
    hold_time_ns: M::Wide,
    /// Completions are early, so no limit is applied.
    early: M::Flag,
}

impl<M: Sharing> PublishedSettings<M> {
    pub(super) fn new() -> Self {
        Self {
            limit: M::Word::new(0),
            min_limit: M::Word::new(0),
            max_limit: M::Word::new(0),
            hold_time_ns: M::Wide::new(0),
            early: M::Flag::new(false),
        }
    }

    #[inline]
    pub(super) fn set_limit(&self, limit: u32) {
        self.limit.store(limit);
    }

    pub(super) fn set_early_completions(&self, early: bool) {
        self.early.store(early);
    }

    pub(super) fn set_config(&self, config: &Config) {
        self.limit.store(config.limit);
        self.min_limit.store(config.min_limit);
        self.max_limit.store(config.max_limit);
        self.hold_time_ns.store(config.hold_time_ns);
    }

    /// The limit and its settings. The totals stay 0.
    pub(super) fn snapshot(&self, in_flight: u32) -> Snapshot {
        let early_completions = self.early.load();
        Snapshot {
            limit: if early_completions {
                MAX_LIMIT
            } else {
                self.limit.load()
            },
            min_limit: self.min_limit.load(),
            max_limit: self.max_limit.load(),
            hold_time_ns: self.hold_time_ns.load(),
            in_flight,
            early_completions,
            ..Snapshot::default()
        }
    }
}
