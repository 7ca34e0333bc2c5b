//! Replacing the ring end of one half from the other half.
//!
//! For the halves of an AF_PACKET ring on two threads. The completer replaces the ring, and before
//! takes all submitted packets out of the old one. A packet that the sender submitted there later
//! would never be returned. So the completer requests the sender's end, waits until it was
//! released, and passes on the new end.

use std::sync::{Arc, PoisonError};

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// The end of the taker.
#[derive(Debug)]
enum EndState<T> {
    /// The taker has it.
    Held,
    /// The taker has it, and must release it.
    Requested,
    /// The taker has none.
    Released,
    /// The taker must take this one.
    New(T),
}

#[derive(Debug)]
struct HandoverState<T> {
    end: Mutex<EndState<T>>,
    /// The taker must act. Written under the lock.
    is_pending: AtomicBool,
}

impl<T> HandoverState<T> {
    /// Each change is complete when it is made, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, EndState<T>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The half that renews the socket.
#[derive(Debug)]
pub(crate) struct Giver<T>(Arc<HandoverState<T>>);

/// The half whose end is replaced.
#[derive(Debug)]
pub(crate) struct Taker<T> {
    /// The current end; `None` between its release and the next one. Dropped before `shared`, by
    /// which the giver detects a dropped half.
    pub(crate) end: Option<T>,
    shared: Arc<HandoverState<T>>,
}

/// The taker has no end yet.
pub(crate) fn handover<T>() -> (Giver<T>, Taker<T>) {
    let shared = Arc::new(HandoverState {
        end: Mutex::new(EndState::Released),
        is_pending: AtomicBool::new(false),
    });
    let taker = Taker {
        end: None,
        shared: shared.clone(),
    };
    (Giver(shared), taker)
}

impl<T> Giver<T> {
    /// Requests that the other half releases its end. It needs no request if it has none, or has
    /// not yet taken a new one.
    pub(crate) fn request_release(&self) {
        let mut end = self.0.lock();
        let has_end = matches!(*end, EndState::Held | EndState::Requested);
        *end = match has_end {
            true => EndState::Requested,
            false => EndState::Released,
        };
        self.0.is_pending.store(has_end, Ordering::Relaxed);
    }

    /// Returns `true` if the other half has released its end. Its accesses before that are visible
    /// then, and it makes no more until it has a new end.
    pub(crate) fn has_released(&self) -> bool {
        // A dropped half has released its end.
        matches!(*self.0.lock(), EndState::Released) || Arc::strong_count(&self.0) == 1
    }

    /// Passes a new end to the other half; only after it has released the old one.
    pub(crate) fn give(&self, end: T) {
        let mut state = self.0.lock();
        *state = EndState::New(end);
        self.0.is_pending.store(true, Ordering::Relaxed);
    }
}

impl<T> Taker<T> {
    /// Executes a request of the other half, if there is one: drops the end, or takes the next one.
    /// Without a request, it is a single load.
    #[inline]
    pub(crate) fn update(&mut self) {
        if self.shared.is_pending.load(Ordering::Relaxed) {
            self.execute();
        }
    }

    fn execute(&mut self) {
        let mut state = self.shared.lock();
        self.shared.is_pending.store(false, Ordering::Relaxed);
        match std::mem::replace(&mut *state, EndState::Released) {
            // The lock is held until the end was dropped.
            EndState::Requested => self.end = None,
            EndState::New(end) => {
                *state = EndState::Held;
                self.end = Some(end);
            }
            unchanged => *state = unchanged,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Both halves, of which one has the end 0.
    fn with_end() -> (Giver<u32>, Taker<u32>) {
        let (giver, mut taker) = handover();
        giver.give(0);
        taker.update();
        assert_eq!(taker.end, Some(0));
        (giver, taker)
    }

    #[test]
    fn end_is_replaced_once() {
        let (giver, mut taker) = with_end();
        giver.request_release();
        assert!(!giver.has_released());
        assert_eq!(taker.end, Some(0));
        taker.update();
        assert!(giver.has_released());
        assert_eq!(taker.end, None);
        giver.give(1);
        for _ in 0..2 {
            taker.update();
            assert_eq!(taker.end, Some(1));
        }
    }

    #[test]
    fn second_request_before_take_releases_again() {
        let (giver, mut taker) = with_end();
        giver.request_release();
        taker.update();
        giver.give(1);
        giver.request_release();
        assert!(giver.has_released(), "the end was never taken");
        taker.update();
        assert_eq!(taker.end, None);
        giver.give(2);
        taker.update();
        assert_eq!(taker.end, Some(2));
    }

    #[test]
    fn second_request_before_release_is_one() {
        let (giver, mut taker) = with_end();
        giver.request_release();
        giver.request_release();
        assert!(!giver.has_released());
        taker.update();
        assert!(giver.has_released());
    }

    #[test]
    fn half_without_an_end_gets_no_request() {
        let (giver, mut taker) = with_end();
        giver.request_release();
        taker.update();
        assert!(giver.has_released());
        // The device was removed; the other half sleeps.
        giver.request_release();
        assert!(giver.has_released());
    }

    #[test]
    fn dropped_half_has_released_its_end() {
        let (giver, taker) = with_end();
        giver.request_release();
        drop(taker);
        assert!(giver.has_released());
    }
}
