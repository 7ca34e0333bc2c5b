//! Model checks of the lock of a flow: work that a thread leaves to the owner is done.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib owner_lock::models`

use std::sync::Mutex;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::{FREE, OwnerLock};

/// Broken on purpose: unlocks without a check of the mark.
fn unlock_despite_a_mark(lock: &OwnerLock) -> bool {
    lock.state.store(FREE, Ordering::Release);
    true
}

/// Each of two threads has work on a flow and does it, or leaves it to the other.
fn work_on_a_flow(try_unlock: fn(&OwnerLock) -> bool) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let hold = Arc::new(OwnerLock::default());
        let (asked, at_work) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        // Only the owner writes it; the lock is only ever tried, never waited for.
        let done = Arc::new(Mutex::new(0));
        let work = {
            let (hold, asked, done) = (hold.clone(), asked.clone(), done.clone());
            move |bit: u32| {
                asked.fetch_or(bit, Ordering::Relaxed);
                if !hold.try_lock_or_mark() {
                    return;
                }
                loop {
                    assert_eq!(at_work.swap(1, Ordering::Relaxed), 0, "two holders");
                    *done.lock().expect("no thread panics while it is locked") |=
                        asked.load(Ordering::Relaxed);
                    at_work.store(0, Ordering::Relaxed);
                    if try_unlock(&hold) {
                        return;
                    }
                }
            }
        };
        let other = {
            let work = work.clone();
            thread::spawn(move || work(1))
        };
        work(2);
        other.join().expect("it does not panic");
        let done = *done.lock().expect("no thread panics while it is locked");
        assert_eq!(done, 3, "lost wake-up: marked, and not processed");
        assert!(hold.try_lock_or_mark(), "it is unlocked in the end");
    });
}

#[test]
fn owner_does_the_work_of_a_mark() {
    work_on_a_flow(OwnerLock::try_unlock);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn owner_without_mark_check_loses_a_wakeup() {
    work_on_a_flow(unlock_despite_a_mark);
}
