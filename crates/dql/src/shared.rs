//! The state that the two threads of a queue share.

use crate::ledger::Ledger;
use crate::limit::Limit;
use crate::sharing::{CacheAligned, Threads};
use crate::side::CompletingSide;
use crate::sync::{AtomicBool, AtomicU32, Ordering, SingleWriterU64};
use crate::{Config, Snapshot};

/// The state that the two threads of a queue share; [`split`](crate::split) creates the halves.
///
/// Each field has one writer. The fields of the sender and those of the completer are on separate
/// cache lines, so that the stores of one thread do not invalidate the other's line. Any third
/// thread can read the state with [`snapshot`](Shared::snapshot).
#[derive(Debug)]
pub struct Shared {
    pub(crate) ledger: Ledger<Threads>,
    report: CacheAligned<Report>,
    split: AtomicBool,
}

/// Written by the completer only, for observers: neither half reads it in its hot path.
#[derive(Debug)]
struct Report {
    window_start_ns: SingleWriterU64,
    hold_time_ns: SingleWriterU64,
    limit: AtomicU32,
    lowest_slack: AtomicU32,
    prev_over_limit: AtomicU32,
    prev_num_queued: AtomicU32,
    prev_last_object: AtomicU32,
    min_limit: AtomicU32,
    max_limit: AtomicU32,
    /// Totals of the ledger at the last reset.
    base: AtomicU32,
    epoch: AtomicU32,
}

macro_rules! new_shared {
    ($ledger:expr) => {
        Shared {
            ledger: $ledger(Config::DEFAULT.limit),
            report: CacheAligned(Report {
                window_start_ns: SingleWriterU64::new(0),
                hold_time_ns: SingleWriterU64::new(Config::DEFAULT.hold_time_ns),
                limit: AtomicU32::new(Config::DEFAULT.limit),
                lowest_slack: AtomicU32::new(u32::MAX),
                prev_over_limit: AtomicU32::new(0),
                prev_num_queued: AtomicU32::new(0),
                prev_last_object: AtomicU32::new(0),
                min_limit: AtomicU32::new(Config::DEFAULT.min_limit),
                max_limit: AtomicU32::new(Config::DEFAULT.max_limit),
                base: AtomicU32::new(0),
                epoch: AtomicU32::new(0),
            }),
            split: AtomicBool::new(false),
        }
    };
}

impl Shared {
    /// The shared part of a queue that is not split yet. It can be a `static`.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        new_shared!(Ledger::threads)
    }

    /// The shared part of a queue that is not split yet (loom's atomics cannot be `const`).
    #[cfg(loom)]
    pub fn new() -> Self {
        new_shared!(Ledger::new)
    }

    /// Returns `true` for the first caller only.
    pub(crate) fn claim(&self) -> bool {
        !self.split.swap(true, Ordering::AcqRel)
    }

    /// Totals of the ledger at the last reset.
    pub(crate) fn base(&self) -> u32 {
        self.report.base.load(Ordering::Relaxed)
    }

    /// Resets so far, wrapping.
    pub(crate) fn epoch(&self) -> u32 {
        self.report.epoch.load(Ordering::Relaxed)
    }

    /// Returns the state as any thread can read it at any time. Each field is valid, but the set is
    /// not atomic, because both halves continue to run. `in_flight` is never negative, but might
    /// combine a current total queued with an older total completed. Across a reset it might read
    /// 0.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let relaxed = Ordering::Relaxed;
        let report = &*self.report;
        let base = self.base();
        let num_completed = self.ledger.num_completed().wrapping_sub(base);
        // Read after num_completed: its Release store was made after the completer read these
        // objects' total, so num_queued is never the smaller one.
        let num_queued = self.ledger.num_queued().wrapping_sub(base);
        let adj_limit = self.ledger.allowed().wrapping_sub(base);
        Snapshot {
            limit: report.limit.load(relaxed),
            adj_limit,
            num_queued,
            num_completed,
            room: adj_limit.wrapping_sub(num_queued) as i32,
            window_start_ns: report.window_start_ns.load(),
            lowest_slack: report.lowest_slack.load(relaxed),
            prev_over_limit: report.prev_over_limit.load(relaxed),
            prev_num_queued: report.prev_num_queued.load(relaxed).wrapping_sub(base),
            prev_last_object: report.prev_last_object.load(relaxed),
            last_object: self.ledger.last_object(),
            min_limit: report.min_limit.load(relaxed),
            max_limit: report.max_limit.load(relaxed),
            hold_time_ns: report.hold_time_ns.load(),
            epoch: self.epoch(),
            in_flight: crate::counter::positive_difference(num_queued, num_completed),
        }
    }

    /// For the completer: publishes the changes of a completion.
    #[inline]
    pub(crate) fn publish(&self, side: &CompletingSide) {
        let (report, rule) = (&*self.report, &side.rule);
        let relaxed = Ordering::Relaxed;
        report.limit.store(rule.limit(), relaxed);
        report.window_start_ns.store(rule.window_start_ns);
        report.lowest_slack.store(rule.lowest_slack, relaxed);
        report.prev_over_limit.store(rule.prev_over_limit, relaxed);
        let prev_num_queued = self.ledger.num_completed().wrapping_add(rule.prev_left);
        report.prev_num_queued.store(prev_num_queued, relaxed);
        report
            .prev_last_object
            .store(rule.prev_last_object, relaxed);
    }

    /// For the completer: publishes everything.
    pub(crate) fn publish_all(&self, side: &CompletingSide) {
        let (report, config) = (&*self.report, side.rule.config());
        let relaxed = Ordering::Relaxed;
        report.min_limit.store(config.min_limit, relaxed);
        report.max_limit.store(config.max_limit, relaxed);
        report.hold_time_ns.store(config.hold_time_ns);
        report.base.store(side.base, relaxed);
        report.epoch.store(side.epoch, relaxed);
        self.publish(side);
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}
