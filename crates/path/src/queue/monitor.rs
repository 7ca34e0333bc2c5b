//! A queue as any other thread sees it.

use alloc::sync::Arc;
use core::fmt;

use super::counters::{CompleterCounters, SenderCounters};
use super::outcome::Snapshot;
use super::requests::check;
use super::shared::Shared;
use crate::sharing::Threads;
use crate::tunables::{Setting, TunableError};

/// The state of a queue. Each field is true, the set is not atomic: both halves
/// continue while it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MonitorSnapshot {
    /// The limit and what is in flight; its totals stay 0.
    pub queue: Snapshot,
    /// What the sender did.
    pub sender: SenderCounters,
    /// What the completer did.
    pub completer: CompleterCounters,
    /// Times that a waiting sender was woken, wrapping.
    pub wakeups: u32,
}

/// Looks at a queue from any thread, changes its settings, and asks for a reset.
#[derive(Clone)]
pub struct Monitor {
    shared: Arc<Shared<Threads>>,
}

impl Monitor {
    pub(super) fn new(shared: Arc<Shared<Threads>>) -> Self {
        Self { shared }
    }

    /// What can be seen now.
    pub fn snapshot(&self) -> MonitorSnapshot {
        let in_flight = self.shared.ledger.in_flight();
        MonitorSnapshot {
            queue: self.shared.settings.snapshot(in_flight),
            sender: self.shared.sender.read(),
            completer: self.shared.completer.read(),
            wakeups: self.shared.room.wakeups(),
        }
    }

    /// Whether one half is gone: nothing new will be seen but what the other drains.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Asks the completer to change a setting; it does so at its next round.
    ///
    /// # Errors
    /// If the value is out of range, or contradicts a setting in force. One that contradicts what
    /// another thread asked for meanwhile is dropped.
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
