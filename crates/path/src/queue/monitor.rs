//! A queue, as any other thread sees it.

use alloc::sync::Arc;
use core::fmt;

use super::counters::{CompleterCounters, SenderCounters};
use super::outcome::Snapshot;
use super::requests::check;
use super::shared::Shared;
use crate::sharing::Threads;
use crate::tunables::{Setting, TunableError};

/// The state of a queue. Each field is valid, but the set is not atomic, because both halves
/// continue to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MonitorSnapshot {
    /// The limit and the units in flight; the totals stay 0.
    pub queue: Snapshot,
    /// Counters of the sender.
    pub sender: SenderCounters,
    /// Counters of the completer.
    pub completer: CompleterCounters,
    /// Times that a waiting sender was woken, wrapping.
    pub wakeups: u32,
}

/// Reads a queue from any thread, changes its settings, and requests resets.
#[derive(Clone)]
pub struct Monitor {
    shared: Arc<Shared<Threads>>,
}

impl Monitor {
    pub(super) fn new(shared: Arc<Shared<Threads>>) -> Self {
        Self { shared }
    }

    /// Returns the current state.
    pub fn snapshot(&self) -> MonitorSnapshot {
        let in_flight = self.shared.ledger.in_flight();
        MonitorSnapshot {
            queue: self.shared.settings.snapshot(in_flight),
            sender: self.shared.sender.read(),
            completer: self.shared.completer.read(),
            wakeups: self.shared.room.wakeups(),
        }
    }

    /// Returns `true` if one half was dropped: the state changes only while the other half drains.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Requests a setting from the completer, which applies it at its next batch.
    ///
    /// # Errors
    /// If the value is out of range, or contradicts a current setting. A setting that contradicts a
    /// concurrent request is dropped.
    pub fn set(&self, setting: Setting) -> Result<(), TunableError> {
        let requests = &self.shared.others.requests;
        check(self.shared.settings.config(), requests, setting)?;
        requests.request(setting);
        self.shared.completer_waker.wake_by_ref();
        Ok(())
    }

    /// Requests a reset from both halves, each at its next call, and wakes them: a sender that
    /// waits for room, and the completer through its `completer_waker`. The sender sends nothing
    /// until the completer has run. A sender that sleeps in
    /// [`Intake::must_wait`](super::many::Intake::must_wait) takes part with the next packet. See
    /// [`Queue::reset`](super::Queue::reset).
    pub fn request_reset(&self) {
        self.shared.request_reset();
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Monitor").field(&self.snapshot()).finish()
    }
}
