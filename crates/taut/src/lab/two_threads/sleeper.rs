//! A thread that sleeps until it is woken, and what a watchdog can see of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// What a thread sleeps for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// The owner: the limit or the ring.
    Room,
    /// The owner: packets of the submitters.
    Work,
    /// A submitter: the ring in front of the owner.
    SubmitRoom,
}

/// A sleep that nobody has ended yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    /// Which of this thread's sleeps.
    pub number: u64,
    /// What it is for.
    pub waits_for: WaitsFor,
}

#[derive(Debug, Default)]
struct State {
    sleeps: u64,
    asleep: Option<WaitsFor>,
    woken: bool,
}

/// One thread's place to sleep.
#[derive(Debug, Default)]
pub struct Sleeper {
    state: Mutex<State>,
    changed: Condvar,
}

impl Sleeper {
    /// Sleeps until somebody wakes this thread; not at all if somebody did already.
    pub fn sleep(&self, waits_for: WaitsFor) {
        let mut state = self.lock();
        state.sleeps += 1;
        state.asleep = Some(waits_for);
        while !std::mem::take(&mut state.woken) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.asleep = None;
    }

    /// The sleep of a thread that nobody has woken.
    pub fn unwoken(&self) -> Option<Sleep> {
        let state = self.lock();
        let waits_for = state.asleep.filter(|_| !state.woken)?;
        Some(Sleep {
            number: state.sleeps,
            waits_for,
        })
    }

    /// Times that the thread slept.
    pub fn sleeps(&self) -> u64 {
        self.lock().sleeps
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.lock().woken = true;
        self.changed.notify_one();
    }
}
