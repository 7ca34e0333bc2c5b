//! What both halves of a queue see.

use core::task::Waker;

use super::watch::Published;
use crate::gate::Gate;
use crate::ledger::Ledger;
use crate::room::RoomWaker;
use crate::sharing::{Flag, Sharing, Word};

/// The gates between the halves, the ledger, and what observers see and ask for.
#[derive(Debug)]
pub(crate) struct Shared<M: Sharing> {
    pub(super) stack: Gate<M>,
    pub(super) driver: Gate<M>,
    pub(super) room: RoomWaker<M>,
    /// Wakes whoever completes, when somebody else has work for it.
    pub(super) completer_waker: Waker,
    pub(super) ledger: Ledger<M>,
    /// One half is gone.
    closed: M::Flag,
    /// Resets that were asked for so far; anybody may ask.
    pub(super) resets_asked: M::Word,
    /// How long a piece of a super-packet may be, in bytes. Written by the completer only.
    pub(super) piece_bytes: M::Word,
    pub(super) published: Published<M>,
}

impl<M: Sharing> Shared<M> {
    pub(super) fn new(ledger: Ledger<M>, waker: Waker, completer_waker: Waker) -> Self {
        Self {
            stack: Gate::new(),
            driver: Gate::new(),
            room: RoomWaker::new(waker),
            completer_waker,
            ledger,
            closed: M::Flag::new(false),
            resets_asked: M::Word::new(0),
            piece_bytes: M::Word::new(u32::MAX),
            published: Published::new(),
        }
    }

    /// The same queue, shared in another way. Needs both halves, and that nobody waits.
    pub(super) fn convert<N: Sharing>(&self) -> Shared<N> {
        let waker = self.room.waker().clone();
        let completer_waker = self.completer_waker.clone();
        let shared = Shared::<N>::new(self.ledger.convert(), waker, completer_waker);
        for (from, to) in [(&self.stack, &shared.stack), (&self.driver, &shared.driver)] {
            to.close_unless(|| !from.is_closed());
        }
        shared.resets_asked.add(self.resets_asked.load());
        shared.piece_bytes.store(self.piece_bytes.load());
        shared.published.sender.set(&self.published.sender.read());
        shared
            .published
            .completer
            .set(&self.published.completer.read());
        shared
    }

    /// Whether the limit, or a budget above it, stopped the queue.
    pub(crate) fn is_stopped_by_stack(&self) -> bool {
        self.stack.is_closed()
    }

    /// For a budget that has room for this queue: clears the stack stop and wakes a sender that
    /// waits. Returns whether this call cleared it and the sender can run.
    pub(crate) fn start_stack(&self) -> bool {
        let started = self.stack.open() && self.is_open();
        if started {
            self.room.notify(|| true);
        }
        started
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.stack.is_closed() && !self.driver.is_closed()
    }

    /// Whether one half is gone.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load()
    }

    /// For a half that goes: the other does not wait for it.
    pub(super) fn close(&self) {
        self.closed.store(true);
        self.room.notify(|| true);
        self.completer_waker.wake_by_ref();
    }

    /// Asks both halves for a reset, and wakes them. One that was asked for and not begun is the same.
    pub(super) fn ask_reset(&self) {
        if self.reset_asked() == self.ledger.reset_begun() {
            self.resets_asked.add(1);
        }
        self.room.notify(|| true);
        self.completer_waker.wake_by_ref();
    }

    /// The reset that was asked for last.
    #[inline]
    pub(super) fn reset_asked(&self) -> u32 {
        self.resets_asked.load_acquire()
    }
}
