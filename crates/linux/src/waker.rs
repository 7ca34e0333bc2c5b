//! A waker with a file descriptor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use rustix::event::{EventfdFlags, eventfd};

use crate::error::failed;
use crate::poll;

/// Wakes a thread that waits in [`poll::wait`]: `Waker::from(Arc<EventWaker>)` is for the notifier,
/// the descriptor for the waiting thread.
///
/// To lose no wake-up: wait, [`clear`](Self::clear), then check the condition.
#[derive(Debug)]
pub struct EventWaker {
    counter: File,
    /// Avoids the system call if the descriptor is readable already.
    woken: AtomicBool,
}

impl EventWaker {
    /// Creates a waker.
    ///
    /// # Errors
    /// The error of `eventfd`: too many open files.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let counter = eventfd(0, flags).map_err(|cause| failed("eventfd", "waker", cause))?;
        Ok(Self {
            counter: counter.into(),
            woken: AtomicBool::new(false),
        })
    }

    /// Waits for a wake-up, or until `deadline_ns`. Returns `true` after a wake-up. Does not clear
    /// it.
    ///
    /// # Errors
    /// As for [`poll::wait`].
    pub fn wait(&self, deadline_ns: Option<u64>) -> io::Result<bool> {
        Ok(poll::wait(&[self.as_fd()], deadline_ns)?.any())
    }

    /// Clears the descriptor until the next wake-up. Accesses before a wake-up that this clears are
    /// visible after it.
    pub fn clear(&self) {
        // Clear the counter first. A wake-up in between does not write, but its condition is
        // visible to a check after this. In the other order, its write would be cleared and the
        // flag would stay set, so that no later wake-up would write.
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
                    // Wake-ups at all moments of the other's loop.
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
