//! The totals of a queue: the one place where units in flight are counted.
//!
//! Totals wrap at 2^32 and only go up. They are compared through their differences, which stay
//! below 2^31. Each number has one writer, which reads its own number back with a plain load; there
//! are no private copies. The numbers of the sender and those of the completer are on cache lines
//! of their own where two threads share them.
//!
//! On one thread, `queued` and `allowed` are rebased at each completion: `queued` is then the units
//! in flight and `allowed` is the limit. This saves two subtractions for each object; nothing else
//! differs.

mod completer;
mod sender;

use crate::counter;
use crate::sharing::{Local, Packed, Sharing, Wide, Word};

#[cfg(all(not(loom), target_has_atomic = "8", target_has_atomic = "32"))]
use crate::sharing::{CacheAligned, Threads};

/// The totals of one queue.
///
/// The sender's methods are [`queued`](Self::queued) to [`record_return`](Self::record_return), the
/// completer's [`batch`](Self::batch) to [`request_return_time`](Self::request_return_time). The
/// caller ensures that one thread at a time calls the methods of each side. Any thread can call the
/// others.
#[derive(Clone, Debug)]
pub struct Ledger<M: Sharing> {
    sender: M::Line<SenderLine<M>>,
    completer: M::Line<CompleterLine<M>>,
}

/// Written by the sender only.
#[derive(Clone, Debug)]
struct SenderLine<M: Sharing> {
    /// Total queued, above the base.
    queued: M::Word,
    last_object: M::Word,
    /// Times that something was to be sent and the limit had no room.
    blocked: M::Word,
    /// See [`CompletionBatch::ring_units`](crate::limit::CompletionBatch::ring_units).
    ring_units: M::Word,
    /// The completer's last request that the sender answered.
    answered: M::Word,
    /// Time at which the sender returned after that request, in ns.
    returned_ns: M::Wide,
}

/// Written by the completer only.
#[derive(Clone, Debug)]
struct CompleterLine<M: Sharing> {
    /// The total up to which the sender may queue, above the base.
    allowed: M::Word,
    num_completed: M::Word,
    /// Requests so far for the time at which the sender returns. The first object answers one.
    requested: M::Word,
}

macro_rules! new_ledger {
    ($limit:expr, $word:expr, $wide:expr, $sender:expr, $completer:expr) => {
        Self {
            sender: $sender(SenderLine {
                queued: $word(0),
                last_object: $word(0),
                blocked: $word(0),
                ring_units: $word(u32::MAX),
                answered: $word(0),
                returned_ns: $wide(0),
            }),
            completer: $completer(CompleterLine {
                allowed: $word($limit),
                num_completed: $word(0),
                requested: $word(1),
            }),
        }
    };
}

impl Ledger<Local> {
    /// A ledger for one thread, with nothing queued.
    pub(crate) const fn local(limit: u32) -> Self {
        use core::cell::Cell;
        new_ledger!(limit, Cell::new, Cell::new, Packed, Packed)
    }
}

#[cfg(all(not(loom), target_has_atomic = "8", target_has_atomic = "32"))]
impl Ledger<Threads> {
    /// A ledger for two threads, with nothing queued.
    pub(crate) const fn threads(limit: u32) -> Self {
        use crate::sync::{AtomicU32, SingleWriterU64};
        new_ledger!(
            limit,
            AtomicU32::new,
            SingleWriterU64::new,
            CacheAligned,
            CacheAligned
        )
    }
}

/// Methods of any thread.
impl<M: Sharing> Ledger<M> {
    /// A ledger with nothing queued, under `limit`.
    pub fn new(limit: u32) -> Self {
        new_ledger!(
            limit,
            M::Word::new,
            M::Wide::new,
            M::Line::from,
            M::Line::from
        )
    }

    /// The total that the stored numbers count from. It moves on one thread only.
    #[inline]
    fn base(&self) -> u32 {
        if M::SHARED {
            0
        } else {
            self.completer.num_completed.load()
        }
    }

    /// Total completed, above the base.
    #[inline]
    fn completed_above_base(&self) -> u32 {
        if M::SHARED {
            self.completer.num_completed.load_acquire()
        } else {
            0
        }
    }

    /// Units in flight, as any thread can see them: never negative, but the two totals might be of
    /// two moments.
    pub fn in_flight(&self) -> u32 {
        // Completed first: it never overtakes the total queued.
        let completed = self.num_completed();
        counter::positive_difference(self.num_queued(), completed)
    }

    /// Total units queued, wrapping.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        self.sender.queued.load_acquire().wrapping_add(self.base())
    }

    /// Total units completed, wrapping.
    #[inline]
    pub fn num_completed(&self) -> u32 {
        self.completer.num_completed.load_acquire()
    }

    /// The total up to which the sender may queue, wrapping.
    #[inline]
    pub fn allowed(&self) -> u32 {
        self.completer.allowed.load().wrapping_add(self.base())
    }

    /// Units of the object that was queued last; 0 if it was unqueued.
    #[inline]
    pub fn last_object(&self) -> u32 {
        self.sender.last_object.load()
    }
}
