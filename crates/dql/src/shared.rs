use crate::counter;
use crate::estimator::{Estimator, Queued};
use crate::sync::{AtomicBool, AtomicU32, Ordering, Written64};
use crate::{Config, Snapshot};

/// What the two threads of one queue share; [`split`](crate::split) makes the halves.
///
/// Each field has one writer. What the sender writes and what the completer writes stand on
/// cache lines of their own, so that neither thread's stores take the other's line away between
/// its own. Any third thread may look at it with [`snapshot`](Shared::snapshot).
#[derive(Debug)]
pub struct Shared {
    pub(crate) sender: SenderLine,
    pub(crate) completer: CompleterLine,
    pub(crate) report: Report,
}

// 128 and not 64 bytes: x86 fetches lines in adjacent pairs, and some arm64 lines have 128 bytes.
/// Written by the sender only.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct SenderLine {
    pub num_queued: AtomicU32,
    pub last_object: AtomicU32,
}

/// Written by the completer only; the sender reads all of it for each object.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct CompleterLine {
    pub adj_limit: AtomicU32,
    pub num_completed: AtomicU32,
    pub epoch: AtomicU32,
    split: AtomicBool,
}

/// Written by the completer only, for observers: neither half reads it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Report {
    window_start_ns: Written64,
    hold_time_ns: Written64,
    limit: AtomicU32,
    lowest_slack: AtomicU32,
    prev_over_limit: AtomicU32,
    prev_num_queued: AtomicU32,
    prev_last_object: AtomicU32,
    min_limit: AtomicU32,
    max_limit: AtomicU32,
}

macro_rules! new_shared {
    () => {
        Shared {
            sender: SenderLine {
                num_queued: AtomicU32::new(0),
                last_object: AtomicU32::new(0),
            },
            completer: CompleterLine {
                adj_limit: AtomicU32::new(0),
                num_completed: AtomicU32::new(0),
                epoch: AtomicU32::new(0),
                split: AtomicBool::new(false),
            },
            report: Report {
                window_start_ns: Written64::new(0),
                hold_time_ns: Written64::new(Config::DEFAULT.hold_time_ns),
                limit: AtomicU32::new(Config::DEFAULT.limit),
                lowest_slack: AtomicU32::new(u32::MAX),
                prev_over_limit: AtomicU32::new(0),
                prev_num_queued: AtomicU32::new(0),
                prev_last_object: AtomicU32::new(0),
                min_limit: AtomicU32::new(Config::DEFAULT.min_limit),
                max_limit: AtomicU32::new(Config::DEFAULT.max_limit),
            },
        }
    };
}

impl Shared {
    /// The shared part of a queue that is not split yet. It can stand in a `static`.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        new_shared!()
    }

    /// The shared part of a queue that is not split yet (loom's atomics cannot be `const`).
    #[cfg(loom)]
    pub fn new() -> Self {
        new_shared!()
    }

    /// True for the first caller only.
    pub(crate) fn claim(&self) -> bool {
        !self.completer.split.swap(true, Ordering::AcqRel)
    }

    /// What anyone may see at any time: each field true, the set not atomic, since both threads
    /// go on while it is taken. `in_flight` is never negative, but may mix a total queued of now
    /// with a total completed of a moment ago; across a reset it may read 0.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let relaxed = Ordering::Relaxed;
        let num_completed = self.completer.num_completed.load(Ordering::Acquire);
        // After num_completed, whose Release store came after the completer saw these objects.
        let num_queued = self.sender.num_queued.load(Ordering::Acquire);
        let adj_limit = self.completer.adj_limit.load(relaxed);
        Snapshot {
            limit: self.report.limit.load(relaxed),
            adj_limit,
            num_queued,
            num_completed,
            room: counter::room(adj_limit, num_queued),
            window_start_ns: self.report.window_start_ns.load(),
            lowest_slack: self.report.lowest_slack.load(relaxed),
            prev_over_limit: self.report.prev_over_limit.load(relaxed),
            prev_num_queued: self.report.prev_num_queued.load(relaxed),
            prev_last_object: self.report.prev_last_object.load(relaxed),
            last_object: self.sender.last_object.load(relaxed),
            min_limit: self.report.min_limit.load(relaxed),
            max_limit: self.report.max_limit.load(relaxed),
            hold_time_ns: self.report.hold_time_ns.load(),
            epoch: self.completer.epoch.load(relaxed),
            in_flight: counter::positive_difference(num_queued, num_completed),
        }
    }
}

impl Default for Shared {
    fn default() -> Self {
        Shared::new()
    }
}

impl SenderLine {
    /// Publishes one more object.
    #[inline]
    pub fn publish(&self, queued: Queued) {
        self.last_object
            .store(queued.last_object, Ordering::Relaxed);
        // Release: whoever sees this total sees its object, or a later one.
        self.num_queued.store(queued.num_queued, Ordering::Release);
    }

    /// What the sender wrote; `last_object` may already be that of a later object.
    #[inline]
    pub fn read(&self) -> Queued {
        let num_queued = self.num_queued.load(Ordering::Acquire);
        Queued {
            num_queued,
            last_object: self.last_object.load(Ordering::Relaxed),
        }
    }
}

impl CompleterLine {
    /// Lets the sender see a completion.
    #[inline]
    pub fn publish(&self, adj_limit: u32, num_completed: u32) {
        self.adj_limit.store(adj_limit, Ordering::Relaxed);
        // Release: an observer that sees this total also sees that so much was queued.
        self.num_completed.store(num_completed, Ordering::Release);
    }
}

impl Report {
    /// Lets observers see what a completion changed.
    #[inline]
    pub fn publish(&self, estimator: &Estimator) {
        let relaxed = Ordering::Relaxed;
        self.limit.store(estimator.limit, relaxed);
        self.window_start_ns.store(estimator.window_start_ns);
        self.lowest_slack.store(estimator.lowest_slack, relaxed);
        self.prev_over_limit
            .store(estimator.prev_over_limit, relaxed);
        self.prev_num_queued
            .store(estimator.prev_num_queued, relaxed);
        self.prev_last_object
            .store(estimator.prev_last_object, relaxed);
    }

    /// Lets observers see the settings.
    pub fn publish_config(&self, config: Config) {
        let relaxed = Ordering::Relaxed;
        self.limit.store(config.limit, relaxed);
        self.min_limit.store(config.min_limit, relaxed);
        self.max_limit.store(config.max_limit, relaxed);
        self.hold_time_ns.store(config.hold_time_ns);
    }
}
