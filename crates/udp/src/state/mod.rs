//! The socket's state behind its lock: the tracker, and the calls that feed it.

mod complete;
mod failures;
mod send;
mod sources;
mod switching;
mod waiting;

use std::io;
use std::ops::Range;
#[cfg(feature = "tokio")]
use std::sync::Arc;

use rustix::net::SocketAddrAny;
use taut_dql::tasks::WaitQueue;

use crate::account::{Settings, SocketTracker};
use crate::events::{Listeners, SocketIssue};
use crate::sys::clock::monotonic_ns;
use crate::sys::message::{BATCH, Control, Entry};
pub(crate) use sources::Sources;

/// Retry time after an error without a later completion.
const RETRY_NS: u64 = 1_000_000;

pub(crate) struct State {
    pub(crate) tracker: SocketTracker,
    pub(crate) turns: Turns,
    pub(crate) listeners: Listeners,
    sources: Sources,
    pub(crate) ipv4: bool,
    sent_since_drain: u32,
    /// The send buffer is full: no attempt before this time unless an object completes.
    full_until_ns: Option<u64>,
    held: HeldError,
    checks: ReleaseChecks,
    scratch: Box<Scratch>,
}

/// The tasks that wait for room, and the task that reads notifications for them.
pub(crate) struct Turns {
    pub(crate) queue: WaitQueue,
    /// When the next task was woken, in ns.
    woken_ns: u64,
    /// Wakes the reading task of a runtime.
    #[cfg(feature = "tokio")]
    pub(crate) changed: Arc<tokio::sync::Notify>,
    /// The reading task must be woken after the lock is released.
    #[cfg(feature = "tokio")]
    reader_is_due: bool,
    /// The reading task also reads while no task waits.
    pub(crate) reads_always: bool,
    /// Runs of the reading task.
    #[cfg(feature = "tokio")]
    pub(crate) reader_runs: u64,
    /// An error of the reading task, for the next waiting task.
    failure: Option<io::Error>,
}

impl Turns {
    /// Returns `true` if no task waits to be woken.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.all_passed()
    }

    /// Returns `true` if the reading task must read notifications.
    pub(crate) fn must_read(&self) -> bool {
        self.reads_always || !self.is_empty()
    }

    /// Counts a run of the reading task. Returns `true` if it must read.
    #[cfg(feature = "tokio")]
    pub(crate) fn next_run(&mut self) -> bool {
        self.reader_runs += 1;
        self.must_read()
    }

    /// Makes the reading task check its deadline: a sent object might have made it earlier, or a
    /// task joined the queue.
    pub(crate) fn check_reader(&mut self) {
        #[cfg(feature = "tokio")]
        {
            self.reader_is_due = true;
        }
    }

    /// Returns the notification of the reading task, if that is due.
    #[cfg(feature = "tokio")]
    pub(crate) fn take_due_reader(&mut self) -> Option<Arc<tokio::sync::Notify>> {
        std::mem::take(&mut self.reader_is_due).then(|| Arc::clone(&self.changed))
    }
}

/// Which zero-copy sends are checked one by one for an immediate release.
#[derive(Debug, Default)]
struct ReleaseChecks {
    /// Objects sent when the source was selected.
    from_object: u64,
    /// Objects sent before the next check.
    next_object: u64,
}

/// A datagram that is too large is tried twice, because the error might belong to an earlier one.
/// The entry of the error queue from the first try is held until the second try shows which.
enum HeldError {
    Nothing,
    Wanted,
    Kept(SocketIssue),
}

/// Buffers that are reused in each call.
struct Scratch {
    controls: [Control; BATCH],
    peers: [Option<SocketAddrAny>; BATCH],
    /// Positions in the pool.
    spans: [Option<Range<usize>>; BATCH],
    entries: [Entry; BATCH],
}

/// Whether a send needs room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Needed,
    NotNeeded,
}

impl State {
    /// `waiters` is the maximum number of tasks that wait for room.
    pub(crate) fn new(
        settings: Settings,
        sources: Sources,
        listeners: Listeners,
        ipv4: bool,
        waiters: usize,
    ) -> Self {
        Self {
            tracker: SocketTracker::new(settings, monotonic_ns()),
            turns: Turns {
                queue: WaitQueue::new(waiters),
                woken_ns: 0,
                #[cfg(feature = "tokio")]
                changed: Arc::default(),
                #[cfg(feature = "tokio")]
                reader_is_due: false,
                reads_always: false,
                #[cfg(feature = "tokio")]
                reader_runs: 0,
                failure: None,
            },
            listeners,
            sources,
            ipv4,
            sent_since_drain: 0,
            full_until_ns: None,
            held: HeldError::Nothing,
            checks: ReleaseChecks::default(),
            scratch: Box::new(Scratch {
                controls: [Control::EMPTY; BATCH],
                peers: [const { None }; BATCH],
                spans: [const { None }; BATCH],
                entries: [Entry::EMPTY; BATCH],
            }),
        }
    }

    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        self.full_until_ns.is_none_or(|until_ns| now_ns >= until_ns)
            && self.tracker.has_room(now_ns)
    }

    /// Returns `true` if only time or the socket's write readiness makes room.
    pub(crate) fn is_full(&self) -> bool {
        self.full_until_ns.is_some() && self.tracker.limiter.in_flight() == 0
    }

    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        let can_send = |&at_ns: &u64| !self.turns.is_empty() && self.tracker.has_room(at_ns);
        let retry_ns = self.full_until_ns.filter(can_send);
        let pass_ns = self.pass_at_ns();
        [self.tracker.next_wakeup(), retry_ns, pass_ns]
            .into_iter()
            .flatten()
            .min()
    }
}
