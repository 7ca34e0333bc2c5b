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
    asked: AtomicU32,
    /// The last request after which the end was released.
    left: AtomicU32,
    /// The request that has a new end.
    ready: AtomicU32,
    /// The new end, and the request that it belongs to.
    given: Mutex<Option<(u32, T)>>,
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
    shared: Arc<HandoverState<T>>,
    /// The request of the current end.
    epoch: u32,
}

/// The action requested of the taker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Continue.
    Nothing,
    /// Release the end, then call [`left`](Taker::left); there is no new end yet.
    Leave,
    /// [`take`](Taker::take) the new end.
    Take,
}

pub(crate) fn handover<T>() -> (Giver<T>, Taker<T>) {
    let shared = Arc::new(HandoverState {
        asked: AtomicU32::new(0),
        left: AtomicU32::new(0),
        ready: AtomicU32::new(0),
        given: Mutex::new(None),
    });
    let taker = Taker {
        shared: shared.clone(),
        epoch: 0,
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
    pub(crate) fn ask(&mut self) {
        let asked = self.asked().wrapping_add(1);
        self.shared.asked.store(asked, Ordering::Release);
        if self.lock().take().is_some() {
            self.other_has_end = false;
        }
    }

    /// Returns `true` if the other half has released its end since the last request. Its accesses
    /// before that are visible then, and it makes no more until it has a new end.
    pub(crate) fn has_left(&mut self) -> bool {
        let left = self.shared.left.load(Ordering::Acquire) == self.asked();
        // A dropped half has released its end.
        if left || Arc::strong_count(&self.shared) == 1 {
            self.other_has_end = false;
        }
        !self.other_has_end
    }

    /// Passes a new end to the other half; only after it has released the old one.
    pub(crate) fn give(&mut self, end: T) {
        self.other_has_end = true;
        let asked = self.asked();
        *self.lock() = Some((asked, end));
        self.shared.ready.store(asked, Ordering::Release);
    }

    /// Written by this half only.
    fn asked(&self) -> u32 {
        self.shared.asked.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(u32, T)>> {
        self.shared
            .given
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Taker<T> {
    /// Returns the requested action. A single load if there is none.
    #[inline]
    pub(crate) fn asked(&self) -> Asked {
        let asked = self.shared.asked.load(Ordering::Acquire);
        if asked == self.epoch {
            Asked::Nothing
        } else if self.shared.ready.load(Ordering::Acquire) == asked {
            Asked::Take
        } else {
            Asked::Leave
        }
    }

    /// Reports that the end was released.
    pub(crate) fn left(&self) {
        let asked = self.shared.asked.load(Ordering::Acquire);
        self.shared.left.store(asked, Ordering::Release);
    }

    /// Takes the new end; `None` if there is none, or if it was requested again.
    pub(crate) fn take(&mut self) -> Option<T> {
        let given = (self.shared.given.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (epoch, end) = given?;
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
        assert_eq!(taker.asked(), Asked::Nothing);
        giver.ask();
        assert!(!giver.has_left());
        assert_eq!(taker.asked(), Asked::Leave);
        taker.left();
        assert!(giver.has_left());
        giver.give("new");
        assert_eq!(taker.asked(), Asked::Take);
        assert_eq!(taker.take(), Some("new"));
        assert_eq!((taker.asked(), taker.take()), (Asked::Nothing, None));
    }

    #[test]
    fn second_request_before_take_releases_again() {
        let (mut giver, mut taker) = handover();
        giver.ask();
        taker.left();
        giver.give(1);
        assert_eq!(taker.asked(), Asked::Take);
        giver.ask();
        assert!(giver.has_left(), "it has nothing that it could let go of");
        assert_eq!((taker.asked(), taker.take()), (Asked::Leave, None));
        giver.give(2);
        assert_eq!(taker.take(), Some(2));
        assert_eq!(taker.asked(), Asked::Nothing);
    }

    #[test]
    fn half_without_an_end_gets_no_request() {
        let (mut giver, taker) = handover::<()>();
        giver.ask();
        taker.left();
        assert!(giver.has_left());
        // The device was removed; the other half sleeps.
        giver.ask();
        assert!(giver.has_left());
    }

    #[test]
    fn dropped_half_has_released_its_end() {
        let (mut giver, taker) = handover::<()>();
        giver.ask();
        drop(taker);
        assert!(giver.has_left());
    }
}
