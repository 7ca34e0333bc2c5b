//! A waker that a thread can poll for.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use rustix::event::{EventfdFlags, eventfd};

use crate::error::failed;
use crate::poll;

/// Wakes a thread that waits in [`poll::wait`]: `Waker::from(Arc<EventWaker>)` for whoever calls,
/// the descriptor for whoever waits.
///
/// The order that loses nothing: wait, [`clear`](Self::clear), then look at what was waited for.
#[derive(Debug)]
pub struct EventWaker {
    counter: File,
    /// Spares the system call when the descriptor is readable already.
    woken: AtomicBool,
}

impl EventWaker {
    /// A waker that nobody has called.
    ///
    /// # Errors
    /// What `eventfd` fails with: too many open files.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let counter = eventfd(0, flags).map_err(|cause| failed("eventfd", "waker", cause))?;
        Ok(Self {
            counter: counter.into(),
            woken: AtomicBool::new(false),
        })
    }

    /// Waits until somebody wakes, or until `deadline_ns`; says whether somebody did. Does not
    /// clear.
    ///
    /// # Errors
    /// As for [`poll::wait`].
    pub fn wait(&self, deadline_ns: Option<u64>) -> io::Result<bool> {
        Ok(poll::wait(&[self.as_fd()], deadline_ns)?.any())
    }

    /// Makes the descriptor silent until the next call. What was done before a call that this
    /// clears is visible after it.
    pub fn clear(&self) {
        // The counter first: a call in between does not write, but what it announces is seen by
        // whoever looks after this. The other way round, its write would be eaten and the flag
        // left on, and no later call would write.
        let _ = (&self.counter).read(&mut [0; 8]);
        self.woken.swap(false, Ordering::AcqRel);
    }
}

impl Wake for EventWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            // Fails only if the counter is full, and then the descriptor is readable.
            let _ = (&self.counter).write(&1u64.to_ne_bytes());
        }
    }
}

impl AsFd for EventWaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::monotonic_ns;
    use std::sync::atomic::AtomicU32;
    use std::task::Waker;
    use std::thread;

    #[test]
    fn wakes_once_until_cleared() {
        let event = Arc::new(EventWaker::new().expect("eventfd"));
        let waker = Waker::from(Arc::clone(&event));
        assert!(!event.wait(Some(0)).expect("looks"));
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert!(event.wait(None).expect("waits"));
        event.clear();
        assert!(!event.wait(Some(0)).expect("looks"));
        waker.wake();
        assert!(event.wait(None).expect("waits"));
    }

    #[test]
    fn no_call_is_lost_between_threads() {
        const CALLS: u32 = 200_000;
        let event = Arc::new(EventWaker::new().expect("eventfd"));
        let done = Arc::new(AtomicU32::new(0));
        let caller = thread::spawn({
            let (waker, done) = (Waker::from(Arc::clone(&event)), Arc::clone(&done));
            move || {
                for call in 0..CALLS {
                    done.fetch_add(1, Ordering::Relaxed);
                    waker.wake_by_ref();
                    // Calls that come at all moments of the other's round.
                    for _ in 0..call % 61 {
                        std::hint::spin_loop();
                    }
                }
            }
        });
        while done.load(Ordering::Relaxed) < CALLS {
            let patience_ns = monotonic_ns() + 60_000_000_000;
            assert!(
                event.wait(Some(patience_ns)).expect("waits"),
                "a call was lost"
            );
            event.clear();
        }
        caller.join().expect("caller");
    }
}
