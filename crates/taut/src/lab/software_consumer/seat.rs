//! Where a thread sleeps until the other one has something for it.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::Duration;

use taut_linux::sched::monotonic_ns;

/// One thread's place to sleep.
#[derive(Debug, Default)]
pub struct Seat {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

impl Seat {
    /// The calling thread is the one that sleeps here. Only the first call counts.
    pub fn take(&self) {
        let _ = self.thread.set(thread::current());
    }

    /// Sleeps until it is woken or `until_ns` has come, unless `has_work` says that there is no need. May end
    /// early.
    pub fn sleep(&self, until_ns: Option<u64>, has_work: impl Fn() -> bool) {
        self.asleep.store(true, Ordering::Relaxed);
        // Either this thread sees the work, or whoever brought it sees the sleeper.
        fence(Ordering::SeqCst);
        if !has_work() {
            match until_ns {
                None => thread::park(),
                Some(at_ns) => {
                    let left_ns = at_ns.saturating_sub(monotonic_ns());
                    thread::park_timeout(Duration::from_nanos(left_ns));
                }
            }
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the thread if it sleeps; what it will find must have been written before.
    pub fn wake_sleeper(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            // Once is enough.
            self.asleep.store(false, Ordering::Relaxed);
            self.unpark();
        }
    }

    /// Ends the sleep of now, or else the next.
    pub fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// The queue calls it only for a sender that asked.
impl Wake for Seat {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn no_wake_up_is_lost_between_two_threads() {
        let (seat, work) = (Seat::default(), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                seat.take();
                for done in 0..10_000 {
                    let has_work = || work.load(Ordering::Acquire) > done;
                    // Only a sleeper that nobody woke is still here then.
                    let lost_ns = monotonic_ns() + 20_000_000_000;
                    while !has_work() {
                        assert!(monotonic_ns() < lost_ns, "a wake-up was lost");
                        seat.sleep(Some(lost_ns), has_work);
                    }
                }
            });
            for _ in 0..10_000 {
                work.fetch_add(1, Ordering::Release);
                seat.wake_sleeper();
                thread::yield_now();
            }
        });
    }
}
