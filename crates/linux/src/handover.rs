//! Replacing the ring end of one half from the other half.
//!
//! A socket is closed only when its rings are no longer mapped, and only then can its queue be
//! bound again. So the half that renews the socket requests the end of the other half, waits until
//! it was released, and passes on the new end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
struct HandoverState<T> {
    /// Number of requests.
    requested: AtomicU32,
    /// The last request after which the end was released.
    released: AtomicU32,
    /// The request that has a new end.
    ready: AtomicU32,
    /// The new end, and the request that it belongs to.
    new_end: Mutex<Option<(u32, T)>>,
}

/// The half that renews the socket.
#[derive(Debug)]
pub(crate) struct Giver<T> {
    shared: Arc<HandoverState<T>>,
    /// The other half has an end, or can take one.
    other_has_end: bool,
}

/// The half whose end is replaced.
#[derive(Debug)]
pub(crate) struct Taker<T> {
    /// The current end; `None` between its release and the next one. Dropped before `shared`, by
    /// which the giver detects a dropped half.
    pub(crate) end: Option<T>,
    /// The request of the current end.
    epoch: u32,
    shared: Arc<HandoverState<T>>,
}

/// The action requested of the taker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Continue.
    Continue,
    /// Release the end, then call [`set_released`](Taker::set_released); there is no new end yet.
    Release,
    /// [`take`](Taker::take) the new end.
    Take,
}

/// The taker has no end yet.
pub(crate) fn handover<T>() -> (Giver<T>, Taker<T>) {
    let shared = Arc::new(HandoverState {
        requested: AtomicU32::new(0),
        released: AtomicU32::new(0),
        ready: AtomicU32::new(0),
        new_end: Mutex::new(None),
    });
    let taker = Taker {
        end: None,
        epoch: 0,
        shared: shared.clone(),
    };
    let giver = Giver {
        shared,
        other_has_end: true,
    };
    (giver, taker)
}

impl<T> Giver<T> {
    /// Requests that the other half releases its end. No request is needed if it has none, or has
    /// not yet taken a new one.
    pub(crate) fn request_release(&mut self) {
        let requested = self.requested().wrapping_add(1);
        self.shared.requested.store(requested, Ordering::Release);
        if self.lock().take().is_some() {
            self.other_has_end = false;
        }
    }

    /// Returns `true` if the other half has released its end since the last request. Its accesses
    /// before that are visible then, and it makes no more until it has a new end.
    pub(crate) fn has_released(&mut self) -> bool {
        let released = self.shared.released.load(Ordering::Acquire) == self.requested();
        // A dropped half has released its end.
        if released || Arc::strong_count(&self.shared) == 1 {
            self.other_has_end = false;
        }
        !self.other_has_end
    }

    /// Passes a new end to the other half; only after it has released the old one.
    pub(crate) fn give(&mut self, end: T) {
        self.other_has_end = true;
        let requested = self.requested();
        *self.lock() = Some((requested, end));
        self.shared.ready.store(requested, Ordering::Release);
    }

    /// Written by this half only.
    fn requested(&self) -> u32 {
        self.shared.requested.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(u32, T)>> {
        self.shared
            .new_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Taker<T> {
    /// Executes a request of the other half, if there is one: passes the end to `leave`, or takes
    /// the next one. Returns `true` in the latter case. Without a request, it is a single load.
    #[inline]
    pub(crate) fn update(&mut self, leave: impl FnOnce(T)) -> bool {
        match self.action() {
            Action::Continue => {}
            Action::Release => {
                if let Some(end) = self.end.take() {
                    leave(end);
                }
                self.set_released();
            }
            Action::Take => {
                self.end = self.take();
                return true;
            }
        }
        false
    }

    /// Returns the requested action. A single load if there is none.
    #[inline]
    pub(crate) fn action(&self) -> Action {
        let requested = self.shared.requested.load(Ordering::Acquire);
        if requested == self.epoch {
            Action::Continue
        } else if self.shared.ready.load(Ordering::Acquire) == requested {
            Action::Take
        } else {
            Action::Release
        }
    }

    /// Reports that the end was released.
    pub(crate) fn set_released(&self) {
        let requested = self.shared.requested.load(Ordering::Acquire);
        self.shared.released.store(requested, Ordering::Release);
    }

    /// Takes the new end; `None` if there is none, or if it was requested again.
    pub(crate) fn take(&mut self) -> Option<T> {
        let new_end = (self.shared.new_end.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (epoch, end) = new_end?;
        self.epoch = epoch;
        Some(end)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn end_is_replaced_once() {
        let (mut giver, mut taker) = handover();
        assert_eq!(taker.action(), Action::Continue);
        giver.request_release();
        assert!(!giver.has_released());
        assert_eq!(taker.action(), Action::Release);
        taker.set_released();
        assert!(giver.has_released());
        giver.give("new");
        assert_eq!(taker.action(), Action::Take);
        assert_eq!(taker.take(), Some("new"));
        assert_eq!((taker.action(), taker.take()), (Action::Continue, None));
    }

    #[test]
    fn second_request_before_take_releases_again() {
        let (mut giver, mut taker) = handover();
        giver.request_release();
        taker.set_released();
        giver.give(1);
        assert_eq!(taker.action(), Action::Take);
        giver.request_release();
        assert!(
            giver.has_released(),
            "it has nothing that it could let go of"
        );
        assert_eq!((taker.action(), taker.take()), (Action::Release, None));
        giver.give(2);
        assert_eq!(taker.take(), Some(2));
        assert_eq!(taker.action(), Action::Continue);
    }

    #[test]
    fn half_without_an_end_gets_no_request() {
        let (mut giver, taker) = handover::<()>();
        giver.request_release();
        taker.set_released();
        assert!(giver.has_released());
        // The device was removed; the other half sleeps.
        giver.request_release();
        assert!(giver.has_released());
    }

    #[test]
    fn dropped_half_has_released_its_end() {
        let (mut giver, taker) = handover::<()>();
        giver.request_release();
        drop(taker);
        assert!(giver.has_released());
    }
}
