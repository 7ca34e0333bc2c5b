//! The state that a tunnel shares with its sockets, and how each wakes the other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::gates::Gates;

/// Longest sleep of a driver without traffic.
const IDLE_NS: u64 = 1_000_000_000;
/// Longest sleep of a driver after traffic: most deadlines then need no wake-up of the driver.
const ACTIVE_NS: u64 = 20_000_000;

/// Wakes the driver of a socket.
pub(crate) type Nudge = Arc<dyn Fn() + Send + Sync>;

/// Called by drivers from time to time.
pub(crate) type OnTick = Box<dyn FnMut(u64) + Send>;

pub(crate) struct Core {
    gates: Mutex<Gates>,
    waiters: Mutex<Waiters>,
    thread_wakeups: Condvar,
    nudges: Mutex<HashMap<u32, Nudge>>,
    on_tick: Mutex<Option<OnTick>>,
    /// The time at which a driver will check the gates.
    planned_ns: AtomicU64,
    /// The time at which the shaper of a discipline releases the next packet; 0: none waits.
    pub(crate) ready_ns: AtomicU64,
    is_active: AtomicBool,
}

#[derive(Default)]
struct Waiters {
    tasks: Vec<Waker>,
    /// Number of wake-ups, by which a thread detects one between its check and its wait.
    wakeups: u64,
}

/// Locks, even after a panic: each change of the state is complete before other code runs.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(crate) fn new(gates: Gates) -> Self {
        Self {
            gates: Mutex::new(gates),
            waiters: Mutex::default(),
            thread_wakeups: Condvar::new(),
            nudges: Mutex::default(),
            on_tick: Mutex::default(),
            planned_ns: AtomicU64::new(0),
            ready_ns: AtomicU64::new(0),
            is_active: AtomicBool::new(false),
        }
    }

    pub(crate) fn gates(&self) -> MutexGuard<'_, Gates> {
        lock(&self.gates)
    }

    pub(crate) fn set_on_tick(&self, on_tick: OnTick) {
        *lock(&self.on_tick) = Some(on_tick);
    }

    /// Registers a driver. Returns its number.
    pub(crate) fn add_driver(&self, nudge: Nudge) -> u32 {
        let mut nudges = lock(&self.nudges);
        let number = nudges.keys().max().map_or(0, |last| last + 1);
        nudges.insert(number, nudge);
        number
    }

    pub(crate) fn remove_driver(&self, number: u32, now_ns: u64) {
        lock(&self.nudges).remove(&number);
        self.gates().closed(number, now_ns);
        self.wake();
    }

    /// Registers a task that waits for a packet.
    pub(crate) fn wait(&self, waker: &Waker) {
        let tasks = &mut lock(&self.waiters).tasks;
        if !tasks.iter().any(|task| task.will_wake(waker)) {
            tasks.push(waker.clone());
        }
    }

    /// Returns the number of wake-ups so far, for [`wait_thread`](Self::wait_thread).
    pub(crate) fn wakeups(&self) -> u64 {
        lock(&self.waiters).wakeups
    }

    /// Blocks the thread until the number of wake-ups is above `seen`, or for `timeout`.
    pub(crate) fn wait_thread(&self, seen: u64, timeout: Duration) {
        let waiters = lock(&self.waiters);
        let is_unchanged = |waiters: &mut Waiters| waiters.wakeups == seen;
        let waited = self
            .thread_wakeups
            .wait_timeout_while(waiters, timeout, is_unchanged);
        drop(waited);
    }

    /// Wakes everything that waits for a packet.
    pub(crate) fn wake(&self) {
        let mut waiters = lock(&self.waiters);
        waiters.wakeups += 1;
        let tasks = std::mem::take(&mut waiters.tasks);
        drop(waiters);
        self.thread_wakeups.notify_all();
        tasks.into_iter().for_each(Waker::wake);
    }

    /// Records traffic.
    pub(crate) fn note_active(&self) {
        self.is_active.store(true, Ordering::Relaxed);
    }

    /// Wakes the drivers if their next check is later than `latest_ns`.
    pub(crate) fn check_by(&self, latest_ns: u64) {
        if self.planned_ns.load(Ordering::Acquire) > latest_ns {
            self.planned_ns.store(latest_ns, Ordering::Release);
            let nudges: Vec<Nudge> = lock(&self.nudges).values().cloned().collect();
            nudges.iter().for_each(|nudge| nudge());
        }
    }

    /// Checks all paths, and wakes what waits. Returns when a driver must call this again.
    pub(crate) fn tick(&self, now_ns: u64) -> u64 {
        let mut gates = self.gates();
        let has_room = gates.check(now_ns);
        let gates_ns = gates.next_wakeup();
        drop(gates);
        if let Some(on_tick) = &mut *lock(&self.on_tick) {
            on_tick(now_ns);
        }
        let is_active = self.is_active.swap(false, Ordering::Relaxed);
        let longest_ns = now_ns + if is_active { ACTIVE_NS } else { IDLE_NS };
        let ready_ns = self.ready_ns.load(Ordering::Relaxed);
        let later_ns = Some(ready_ns).filter(|at_ns| *at_ns > now_ns);
        let next = [gates_ns, later_ns].into_iter().flatten().min();
        let planned_ns = next.unwrap_or(longest_ns).clamp(now_ns, longest_ns);
        self.planned_ns.store(planned_ns, Ordering::Release);
        if has_room || (ready_ns != 0 && later_ns.is_none()) {
            self.wake();
        }
        planned_ns
    }
}
