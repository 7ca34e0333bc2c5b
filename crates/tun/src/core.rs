//! The state that a tunnel shares with its sockets, and how each wakes the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use taut_udp::Source;

use crate::gates::Gates;

/// Longest sleep of a driver without traffic.
const IDLE_NS: u64 = 1_000_000_000;
/// Longest sleep of a driver after traffic: most deadlines then need no wake-up of the driver.
const ACTIVE_NS: u64 = 20_000_000;

/// Wakes the driver of a socket.
pub(crate) type Nudge = Arc<dyn Fn() + Send + Sync>;

/// Called by drivers from time to time.
pub(crate) type OnTick = Box<dyn FnMut(u64) + Send>;

/// The settings of a tunnel's sockets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SocketSettings {
    pub(crate) source: Source,
    pub(crate) errors: bool,
}

pub(crate) struct Core {
    pub(crate) socket: SocketSettings,
    gates: Mutex<Gates>,
    drivers: Mutex<Vec<(u32, Nudge)>>,
    pub(crate) on_tick: Mutex<Option<OnTick>>,
    /// The time at which a driver will check the gates.
    planned_ns: AtomicU64,
}

/// Locks, even after a panic: each change of the state is complete before other code runs.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes tasks after the lock was released, because a waker can run arbitrary code.
pub(crate) fn wake_all(mut gates: MutexGuard<'_, Gates>) {
    let waiting = std::mem::take(&mut gates.waiting);
    drop(gates);
    waiting.into_iter().for_each(Waker::wake);
}

impl Core {
    pub(crate) fn new(socket: SocketSettings, gates: Gates) -> Self {
        Self {
            socket,
            gates: Mutex::new(gates),
            drivers: Mutex::default(),
            on_tick: Mutex::default(),
            planned_ns: AtomicU64::new(0),
        }
    }

    pub(crate) fn gates(&self) -> MutexGuard<'_, Gates> {
        lock(&self.gates)
    }

    /// Registers a driver. Returns its number.
    pub(crate) fn add_driver(&self, nudge: Nudge) -> u32 {
        let mut drivers = lock(&self.drivers);
        let number = drivers.last().map_or(0, |(last, _)| last.wrapping_add(1));
        drivers.push((number, nudge));
        number
    }

    pub(crate) fn remove_driver(&self, number: u32, now_ns: u64) {
        lock(&self.drivers).retain(|(driver, _)| *driver != number);
        // The planned tick might be that of this driver: the others plan theirs again.
        self.wake_drivers_by(0);
        let mut gates = self.gates();
        gates.closed(number, now_ns);
        wake_all(gates);
    }

    /// Sets when the shaper of a discipline releases the next packet, if one waits for it. Keeps an
    /// earlier time of paths that the caller did not visit.
    pub(crate) fn set_ready(&self, gates: &mut Gates, ready_ns: Option<u64>, visits_all: bool) {
        gates.is_active = true;
        let earlier_ns = gates.ready_ns.filter(|_| !visits_all);
        gates.ready_ns = ready_ns.into_iter().chain(earlier_ns).min();
        if let Some(ready_ns) = gates.ready_ns {
            self.wake_drivers_by(ready_ns);
        }
    }

    /// Plans a check at `at_ns`. A driver can perform it late, by at most the time until `at_ns`.
    pub(crate) fn check_at(&self, at_ns: u64, now_ns: u64) {
        self.wake_drivers_by(at_ns.saturating_add(at_ns.saturating_sub(now_ns)));
    }

    fn wake_drivers_by(&self, latest_ns: u64) {
        if self.planned_ns.load(Ordering::Acquire) > latest_ns {
            self.planned_ns.store(latest_ns, Ordering::Release);
            let drivers = lock(&self.drivers).clone();
            drivers.iter().for_each(|(_, nudge)| nudge());
        }
    }

    /// Checks all paths, and wakes what waits. Returns when a driver must call this again.
    pub(crate) fn tick(&self, now_ns: u64) -> u64 {
        let mut gates = self.gates();
        let mut has_room = gates.check(now_ns);
        has_room |= gates.ready_ns.is_some_and(|ready_ns| ready_ns <= now_ns);
        let is_active = std::mem::take(&mut gates.is_active);
        let longest_ns = now_ns + if is_active { ACTIVE_NS } else { IDLE_NS };
        let shaper_ns = gates.ready_ns.filter(|&ready_ns| ready_ns > now_ns);
        let next = gates.next_wakeup().into_iter().chain(shaper_ns).min();
        let planned_ns = next.unwrap_or(longest_ns).clamp(now_ns, longest_ns);
        self.planned_ns.store(planned_ns, Ordering::Release);
        if has_room {
            wake_all(gates);
        } else {
            drop(gates);
        }
        if let Some(on_tick) = &mut *lock(&self.on_tick) {
            on_tick(now_ns);
        }
        planned_ns
    }
}
