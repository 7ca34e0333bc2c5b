//! The socket's state behind its lock: the tracker, and the calls that feed it.

mod complete;
mod failures;
mod listeners;
mod numbers;
mod send;
mod sources;
mod switching;
mod turns;
mod waiting;

use crate::account::{Settings, SocketTracker};
use crate::control::Name;
use crate::events::SocketIssue;
use crate::pool::Span;
use crate::sys::clock::monotonic_ns;
use crate::sys::message::{BATCH, Control, Entry};
pub(crate) use listeners::Listeners;
pub(crate) use sources::{SourceInUse, Sources};
use turns::Turns;

/// Retry time after an error without a later completion.
const RETRY_NS: u64 = 1_000_000;

pub(crate) struct State {
    pub(crate) tracker: SocketTracker,
    pub(crate) turns: Turns,
    pub(crate) listeners: Listeners,
    source: SourceInUse,
    pub(crate) ipv4: bool,
    sent_since_drain: u32,
    /// The send buffer is full: no attempt before this time unless an object completes.
    full_until_ns: Option<u64>,
    held: HeldError,
    checks: ReleaseChecks,
    scratch: Box<Scratch>,
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
    control_bytes: [usize; BATCH],
    names: [Name; BATCH],
    spans: [Option<Span>; BATCH],
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
        settings: &Settings,
        source: SourceInUse,
        listeners: Listeners,
        ipv4: bool,
        waiters: usize,
    ) -> Self {
        Self {
            tracker: SocketTracker::new(settings, monotonic_ns()),
            turns: Turns::new(waiters),
            listeners,
            source,
            ipv4,
            sent_since_drain: 0,
            full_until_ns: None,
            held: HeldError::Nothing,
            checks: ReleaseChecks::default(),
            scratch: Box::new(Scratch {
                controls: [Control::EMPTY; BATCH],
                control_bytes: [0; BATCH],
                names: [Name::NONE; BATCH],
                spans: [None; BATCH],
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
        self.full_until_ns.is_some()
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

    pub(crate) fn issue(&mut self, issue: SocketIssue) {
        self.listeners.issue(issue);
    }
}
