//! A reset, as a rendezvous of the two halves.

use crate::sharing::{Sharing, Word};

/// The steps of resets, which are counted: any thread requests one, the sender begins it, the
/// completer ends it.
///
/// From the begin to the end the sender sends nothing. So no packet of a newer epoch is in flight,
/// and the completer can write off all units in the ledger. If the completer never runs, the sender
/// stays stopped; it waits for nothing else.
///
/// A tag counts the resets with seven bits. A packet that returns after exactly 128 resets (or a
/// multiple) counts as one of the current epoch.
#[derive(Debug, Default)]
pub(super) struct Reset<M: Sharing> {
    /// Written by any thread.
    requested: M::Word,
    /// Written by the sender.
    begun: M::Word,
    /// Written by the completer.
    ended: M::Word,
}

impl<M: Sharing> Reset<M> {
    /// Requests a reset, unless a requested one has not begun. Two concurrent requests give one
    /// reset or two.
    pub(super) fn request(&self) {
        if !self.is_requested() {
            self.requested.add(1);
        }
    }

    /// Returns `true` if a reset was requested that has not begun.
    #[inline]
    pub(super) fn is_requested(&self) -> bool {
        self.requested.load_acquire() != self.begun.load_acquire()
    }

    /// For a sender whose epoch is `epoch`: returns `true` if it must take part in a reset.
    #[inline]
    pub(super) fn concerns(&self, epoch: u32) -> bool {
        self.requested.load_acquire() != epoch
    }

    /// For the sender: begins all resets that were requested. Returns `true` if there is one.
    pub(super) fn begin(&self) -> bool {
        let requested = self.requested.load_acquire();
        let is_new = requested != self.begun.load();
        // Release: a completer that sees the begin sees all packets sent before it.
        self.begun.store_release(requested);
        is_new
    }

    /// For the sender: returns the new epoch, if the reset that it began has ended.
    pub(super) fn epoch(&self) -> Option<u32> {
        let begun = self.begun.load();
        (self.ended.load_acquire() == begun).then_some(begun)
    }

    /// For the completer: returns the reset that it must end.
    #[inline]
    pub(super) fn to_end(&self) -> Option<u32> {
        let begun = self.begun.load_acquire();
        (begun != self.ended.load()).then_some(begun)
    }

    /// For the completer: ends the reset, after it corrected the ledger.
    pub(super) fn end(&self, reset: u32) {
        self.ended.store_release(reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::Threads;

    #[test]
    fn reset_has_request_begin_and_end() {
        let reset = Reset::<Threads>::default();
        assert!(!reset.is_requested() && !reset.concerns(0));
        reset.request();
        reset.request();
        assert!(reset.is_requested() && reset.concerns(0));
        assert_eq!(reset.to_end(), None, "the sender has not begun it");
        assert!(reset.begin() && !reset.begin());
        assert_eq!((reset.epoch(), reset.to_end()), (None, Some(1)));
        reset.end(1);
        assert_eq!((reset.epoch(), reset.to_end()), (Some(1), None));
        assert!(!reset.concerns(1));
    }

    #[test]
    fn a_request_during_a_reset_is_not_lost() {
        let reset = Reset::<Threads>::default();
        reset.request();
        reset.begin();
        reset.request();
        reset.end(1);
        assert!(reset.is_requested());
        assert!(reset.begin());
        assert_eq!((reset.epoch(), reset.to_end()), (None, Some(2)));
    }

    #[test]
    fn two_resets_may_begin_before_the_first_ends() {
        let reset = Reset::<Threads>::default();
        for _ in 0..2 {
            reset.request();
            reset.begin();
        }
        assert_eq!(reset.to_end(), Some(2));
        reset.end(2);
        assert_eq!(reset.epoch(), Some(2));
    }
}
