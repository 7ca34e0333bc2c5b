//! The state that both halves of a queue share.

use alloc::sync::Arc;
use core::ops::Deref;
use core::task::Waker;

use super::config::QueueConfig;
use super::counters::{CompleterCells, SenderCells};
use super::outcome::Stop;
use super::requests::{PublishedSettings, Requests};
use super::reset::Reset;
use crate::gate::Gate;
use crate::room::RoomWaker;
use crate::sharing::{Sharing, Threads, Word};
use taut_dql::ledger::Ledger;
use taut_dql::stall::Generations;

/// The gates between the halves, the ledger, and the values that observers read and request.
pub(crate) struct Shared<M: Sharing> {
    pub(super) stack: Gate<M>,
    pub(super) driver: Gate<M>,
    pub(super) room: RoomWaker<M>,
    /// Wakes the completer when another thread has work for it.
    pub(super) completer_waker: Waker,
    pub(super) ledger: Ledger<M>,
    pub(super) generations: Generations<M>,
    pub(super) reset: Reset<M>,
    pub(super) sender: M::Line<SenderCells<M>>,
    pub(super) completer: M::Line<CompleterCells<M>>,
    pub(super) settings: M::Line<PublishedSettings<M>>,
    pub(super) others: M::Line<Others<M>>,
    /// Maximum length of a chunk of a GSO packet, in bytes. Written by the completer only.
    pub(super) chunk_bytes: M::Word,
}

/// Written by any thread.
#[derive(Default)]
pub(super) struct Others<M: Sharing> {
    /// `true` after one half was dropped.
    closed: M::Word,
    pub requests: Requests<M>,
}

impl<M: Sharing> Shared<M> {
    pub(super) fn new(limit: u32, config: &QueueConfig) -> Self {
        Self {
            stack: Gate::new(),
            driver: Gate::new(),
            room: RoomWaker::new(config.waker.clone()),
            completer_waker: config.completer_waker.clone(),
            ledger: Ledger::new(limit),
            generations: Generations::new(config.stall_threshold_ns),
            reset: Reset::default(),
            sender: SenderCells::default().into(),
            completer: CompleterCells::default().into(),
            settings: PublishedSettings::default().into(),
            others: Others::default().into(),
            chunk_bytes: M::Word::new(u32::MAX),
        }
    }

    /// Returns `true` if the limit, or a budget above it, stopped the queue.
    pub(crate) fn is_stopped_by_stack(&self) -> bool {
        self.stack.is_closed()
    }

    /// For a budget that has room for this queue: clears the stack stop and wakes a sender that
    /// waits. Returns `true` if this call cleared it and the sender can run.
    pub(crate) fn start_stack(&self) -> bool {
        let started = self.stack.open() && self.is_open();
        if started {
            self.room.notify();
        }
        started
    }

    /// Returns `true` if neither the limit nor a full ring stopped the queue.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        // Non-short-circuit `|`, which needs no branch between the two loads.
        !(self.stack.is_closed() | self.driver.is_closed())
    }

    /// Returns `true` if one half was dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.others.closed.load_acquire() != 0
    }

    /// Returns `stop`, or [`Stop::Closed`] if one half was dropped.
    pub(super) fn or_closed<E>(&self, stop: Stop<E>) -> Stop<E> {
        if M::SHARED && self.is_closed() {
            Stop::Closed
        } else {
            stop
        }
    }

    /// For the completer: begins requested resets in place of a sender that was dropped.
    /// Returns `true` if it was dropped.
    #[cold]
    pub(super) fn begin_reset_if_closed(&self) -> bool {
        let is_closed = self.is_closed();
        if is_closed {
            self.reset.begin();
        }
        is_closed
    }

    /// For a half that is dropped: the other half must not wait for it.
    pub(super) fn close(&self) {
        self.others.closed.store_release(1);
        self.room.notify();
        self.completer_waker.wake_by_ref();
    }

    /// Requests a reset and wakes both halves.
    pub(super) fn request_reset(&self) {
        self.reset.request();
        self.room.notify();
        self.completer_waker.wake_by_ref();
    }
}

/// A half's handle of the shared state. Dropping it releases the other half from waiting.
pub(super) struct HalfHandle(pub Arc<Shared<Threads>>);

impl Deref for HalfHandle {
    type Target = Shared<Threads>;

    #[inline]
    fn deref(&self) -> &Shared<Threads> {
        &self.0
    }
}

impl Drop for HalfHandle {
    fn drop(&mut self) {
        self.0.close();
    }
}
