//! Turns of the tasks that wait for room.

use std::io;
use std::task::Waker;

use taut_dql::tasks::WaitQueue;

/// The tasks that wait for room, and the task that reads notifications for them.
pub(crate) struct Turns {
    pub(crate) queue: WaitQueue,
    /// When the next task was woken, in ns.
    pub(super) woken_ns: u64,
    /// The reading task of a runtime; `None` while it must check its deadline.
    pub(crate) reader: Option<Waker>,
    /// A sent object might have made the deadline earlier, or a task joined the queue.
    pub(crate) reader_must_check: bool,
    /// An error of the reading task, for the next waiting task.
    pub(super) failure: Option<io::Error>,
}

/// Wakers to call after the lock is released, because a waker can run arbitrary code.
#[must_use]
#[derive(Default)]
pub(crate) struct Wakeups {
    pub(super) next: Option<Waker>,
    pub(super) reader: Option<Waker>,
}

impl Wakeups {
    pub(crate) fn wake(self) {
        self.next.into_iter().for_each(Waker::wake);
        self.reader.into_iter().for_each(Waker::wake);
    }
}

impl Turns {
    pub(super) fn new(max: usize) -> Self {
        Self {
            queue: WaitQueue::new(max),
            woken_ns: 0,
            reader: None,
            reader_must_check: false,
            failure: None,
        }
    }

    /// Returns `true` if no task waits to be woken.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.all_passed()
    }
}
