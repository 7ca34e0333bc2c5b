//! Taking the end of a ring away from one half, and giving it another, from the other half.
//!
//! A socket is only gone when nobody has its rings mapped, and a queue can only be bound again
//! then. So whoever renews the socket asks the other half to let go, waits until it has, and gives
//! it the new end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
struct HandoverState<T> {
    /// Times that the end was asked for.
    asked: AtomicU32,
    /// How often it was let go, up to which asking.
    left: AtomicU32,
    /// For which asking a new end is there.
    ready: AtomicU32,
    /// The new end, and the asking that it is for.
    given: Mutex<Option<(u32, T)>>,
}

/// The half that renews.
#[derive(Debug)]
pub(crate) struct Giver<T> {
    shared: Arc<HandoverState<T>>,
    /// The other half has an end, or one that it may take.
    other_has_end: bool,
}

/// The half whose end is renewed.
#[derive(Debug)]
pub(crate) struct Taker<T> {
    shared: Arc<HandoverState<T>>,
    /// The asking of which the present end is.
    epoch: u32,
}

/// What the taker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Go on.
    Nothing,
    /// Let go, and say [`left`](Taker::left); there is no other end yet.
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
    /// Asks the other half to let go. One that has no end, or was given one and has not taken it,
    /// need not hear of it.
    pub(crate) fn ask(&mut self) {
        let asked = self.asked().wrapping_add(1);
        self.shared.asked.store(asked, Ordering::Release);
        if self.lock().take().is_some() {
            self.other_has_end = false;
        }
    }

    /// Whether it has let go, since it was asked last. What it did before is visible then, and it
    /// does nothing more until it is given a new end.
    pub(crate) fn has_left(&mut self) -> bool {
        let left = self.shared.left.load(Ordering::Acquire) == self.asked();
        // Who is gone has let go.
        if left || Arc::strong_count(&self.shared) == 1 {
            self.other_has_end = false;
        }
        !self.other_has_end
    }

    /// Gives it a new end; only after it has left.
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
    /// What it is to do now. One load where that is nothing.
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

    /// The end is gone: says so.
    pub(crate) fn left(&self) {
        let asked = self.shared.asked.load(Ordering::Acquire);
        self.shared.left.store(asked, Ordering::Release);
    }

    /// The new end; `None` if there is none, or it was asked for again meanwhile.
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
    fn an_end_goes_once_round() {
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
    fn asked_again_before_it_took_it_leaves_again() {
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
    fn a_half_that_was_given_nothing_is_not_asked_again() {
        let (mut giver, taker) = handover::<()>();
        giver.ask();
        taker.left();
        assert!(giver.has_left());
        // The device was gone; the other half sleeps.
        giver.ask();
        assert!(giver.has_left());
    }

    #[test]
    fn a_half_that_is_gone_has_let_go() {
        let (mut giver, taker) = handover::<()>();
        giver.ask();
        drop(taker);
        assert!(giver.has_left());
    }
}
