//! What a queue counts: how much was queued, how much of it is complete, and how much more may go.
//!
//! All totals wrap at 2^32; they are compared through their differences, which stay below 2^31.
//! Each number has one writer. What the sender writes and what the completer writes stand on cache
//! lines of their own, so that neither thread's stores take the other's line away.

use taut_dql::{Error, check_object};

use crate::sharing::{Sharing, Wide, Word};

/// Both sides' numbers. 128 and not 64 bytes apart: x86 fetches lines in adjacent pairs, and some
/// arm64 lines have 128 bytes.
#[derive(Debug)]
pub struct Ledger<M: Sharing> {
    sender: SenderLine<M>,
    completer: CompleterLine<M>,
}

/// Written by the sender only.
#[derive(Debug)]
#[repr(align(128))]
struct SenderLine<M: Sharing> {
    num_queued: M::Word,
    last_object: M::Word,
    /// When the queue was last empty while something was queued, in ns.
    busy_since_ns: M::Wide,
    /// When the sender queued first after the question that it answered last, in ns.
    returned_ns: M::Wide,
    /// The question that this answers.
    answered: M::Word,
    /// Times that there was something to send and no room.
    refusals: M::Word,
    /// Slices of time that were begun, what had been queued before the last of them, and when that
    /// was, in ns.
    slices: M::Word,
    slice_boundary: M::Word,
    slice_at_ns: M::Wide,
    /// The reset that the sender began last.
    reset_begun: M::Word,
    /// The reset that it begins (upper half), and what it has queued by then (lower half). Written
    /// before `reset_begun`, and in one piece, so that a boundary is never taken for another's.
    reset_boundary: M::Wide,
}

/// Written by the completer only; the sender reads all of it for each object.
#[derive(Debug)]
#[repr(align(128))]
struct CompleterLine<M: Sharing> {
    /// The total up to which may be queued: the limit and `num_completed`.
    allowed: M::Word,
    num_completed: M::Word,
    /// Questions so far for the time of the next object.
    asked: M::Word,
    /// The slice before which everything is complete.
    slices_done: M::Word,
}

impl<M: Sharing> Ledger<M> {
    /// Nothing queued, under `limit`.
    pub fn new(limit: u32, now_ns: u64) -> Self {
        let number = M::Word::new;
        Self {
            sender: SenderLine {
                num_queued: number(0),
                last_object: number(0),
                busy_since_ns: M::Wide::new(now_ns),
                returned_ns: M::Wide::new(now_ns),
                answered: number(0),
                refusals: number(0),
                slices: number(0),
                slice_boundary: number(0),
                slice_at_ns: M::Wide::new(now_ns),
                reset_begun: number(0),
                reset_boundary: M::Wide::new(0),
            },
            completer: CompleterLine {
                allowed: number(limit),
                num_completed: number(0),
                // The first object of all says when it came.
                asked: number(1),
                slices_done: number(0),
            },
        }
    }

    /// The same numbers, shared in another way.
    pub fn convert<N: Sharing>(&self) -> Ledger<N> {
        let number = |from: &M::Word| N::Word::new(from.load());
        let wide = |from: &M::Wide| N::Wide::new(from.load());
        Ledger {
            sender: SenderLine {
                num_queued: number(&self.sender.num_queued),
                last_object: number(&self.sender.last_object),
                busy_since_ns: wide(&self.sender.busy_since_ns),
                returned_ns: wide(&self.sender.returned_ns),
                answered: number(&self.sender.answered),
                refusals: number(&self.sender.refusals),
                slices: number(&self.sender.slices),
                slice_boundary: number(&self.sender.slice_boundary),
                slice_at_ns: wide(&self.sender.slice_at_ns),
                reset_begun: number(&self.sender.reset_begun),
                reset_boundary: wide(&self.sender.reset_boundary),
            },
            completer: CompleterLine {
                allowed: number(&self.completer.allowed),
                num_completed: number(&self.completer.num_completed),
                asked: number(&self.completer.asked),
                slices_done: number(&self.completer.slices_done),
            },
        }
    }

    /// The reset that the sender began last, for whoever looks.
    pub fn reset_begun(&self) -> u32 {
        self.sender.reset_begun.load_acquire()
    }

    /// Units in flight, for whoever looks; never negative, but perhaps of two moments.
    pub fn in_flight(&self) -> u32 {
        // Completed first: it never overtakes what was queued.
        let completed = self.completer.num_completed.load_acquire();
        let queued = self.sender.num_queued.load_acquire();
        (queued.wrapping_sub(completed) as i32).max(0) as u32
    }

    /// When the units now in flight began to be queued on an empty queue, in ns.
    pub fn busy_since_ns(&self) -> u64 {
        self.sender.busy_since_ns.load()
    }
}

/// The sender's view.
#[derive(Debug, Default)]
pub struct SenderLedger {
    // Their only writer is this side, so its own copies are always current.
    num_queued: u32,
    answered: u32,
    refusals: u32,
    slices: u32,
}

impl SenderLedger {
    /// Begins a slice of time, if all is complete that was queued before the last. Returns whether
    /// it did.
    pub fn begin_slice<M: Sharing>(&mut self, ledger: &Ledger<M>, now_ns: u64) -> bool {
        if ledger.completer.slices_done.load_acquire() != self.slices {
            return false;
        }
        self.slices = self.slices.wrapping_add(1);
        ledger.sender.slice_boundary.store(self.num_queued);
        ledger.sender.slice_at_ns.store(now_ns);
        // Release: whoever sees the slice sees where and when it began.
        ledger.sender.slices.store_release(self.slices);
        true
    }

    /// Units in flight. The completer may lower it at any time.
    #[inline]
    pub fn in_flight<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        self.num_queued
            .wrapping_sub(ledger.completer.num_completed.load())
    }

    /// Whether one more object may be queued. The completer may change it at any time.
    #[inline]
    pub fn has_room<M: Sharing>(&self, ledger: &Ledger<M>) -> bool {
        self.room(ledger) >= 0
    }

    /// How far the limit is above what is in flight. The completer may change it at any time.
    #[inline]
    pub fn room<M: Sharing>(&self, ledger: &Ledger<M>) -> i32 {
        let allowed = ledger.completer.allowed.load();
        allowed.wrapping_sub(self.num_queued) as i32
    }

    /// The limit. Of two moments where a completer runs beside, and then wrong by what it finishes in
    /// one round.
    pub fn limit<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        let allowed = ledger.completer.allowed.load();
        let limit = allowed.wrapping_sub(ledger.completer.num_completed.load());
        (limit as i32).max(0) as u32
    }

    /// Counts one object, before the device can see it.
    ///
    /// # Errors
    /// If the object cannot be counted; nothing is counted.
    #[inline]
    pub fn queued<M: Sharing>(
        &mut self,
        ledger: &Ledger<M>,
        units: u32,
        now_ns: u64,
    ) -> Result<(), Error> {
        self.queued_together(ledger, units, units, now_ns)
    }

    /// Counts objects of so many units together, the last of which has `last`, before the device can see
    /// the first. To a completer it is as if the device had them already.
    ///
    /// # Errors
    /// If they cannot be counted, or are together more than one object may be; nothing is counted.
    #[inline]
    pub fn queued_together<M: Sharing>(
        &mut self,
        ledger: &Ledger<M>,
        units: u32,
        last: u32,
        now_ns: u64,
    ) -> Result<(), Error> {
        let in_flight = self.in_flight(ledger);
        if in_flight == 0 {
            ledger.sender.busy_since_ns.store(now_ns);
        }
        check_object(in_flight, units)?;
        let asked = ledger.completer.asked.load();
        if asked != self.answered {
            self.answer(ledger, asked, now_ns);
        }
        self.num_queued = self.num_queued.wrapping_add(units);
        ledger.sender.last_object.store(last);
        // Release: whoever sees this total sees its object, or a later one, and the answer.
        ledger.sender.num_queued.store_release(self.num_queued);
        Ok(())
    }

    /// The sender is back: says when, before the object is counted that brings it.
    #[cold]
    fn answer<M: Sharing>(&mut self, ledger: &Ledger<M>, asked: u32, now_ns: u64) {
        self.answered = asked;
        ledger.sender.returned_ns.store(now_ns);
        // Release: whoever sees the answer sees the time that belongs to it.
        ledger.sender.answered.store_release(asked);
    }

    /// Takes back the objects that were queued last, which the device has not seen and never will.
    /// A completer that read the larger total takes it for objects that are still in flight.
    pub fn unqueue<M: Sharing>(&mut self, ledger: &Ledger<M>, units: u32) {
        self.num_queued = self.num_queued.wrapping_sub(units);
        ledger.sender.num_queued.store_release(self.num_queued);
    }

    /// There was something to send and no room.
    pub fn refused<M: Sharing>(&mut self, ledger: &Ledger<M>) {
        self.refusals = self.refusals.wrapping_add(1);
        ledger.sender.refusals.store(self.refusals);
    }

    /// Begins reset number `reset`: what was queued until now does not count any more. `others`
    /// writes what else belongs to the boundary.
    pub fn begin_reset<M: Sharing>(
        &mut self,
        ledger: &Ledger<M>,
        reset: u32,
        others: impl FnOnce(),
    ) {
        let boundary = u64::from(reset) << 32 | u64::from(self.num_queued);
        ledger.sender.reset_boundary.store(boundary);
        others();
        // Release: whoever sees the reset sees its boundary, or a later one.
        ledger.sender.reset_begun.store_release(reset);
    }

    /// The reset that was begun last.
    pub fn reset_begun<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        ledger.sender.reset_begun.load()
    }
}

/// What the sender had done at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderSide {
    /// Queued since the last reset, wrapping.
    pub num_queued: u32,
    /// Units in flight.
    pub in_flight: u32,
}

/// The completer's view.
#[derive(Debug, Default)]
pub struct CompleterLedger {
    num_completed: u32,
    allowed: u32,
    asked: u32,
    /// What had been completed at the last reset, and how often the sender had been refused.
    base: u32,
    refusals_base: u32,
    slices: u32,
}

impl CompleterLedger {
    /// The view of a new ledger.
    pub fn new(limit: u32) -> Self {
        Self {
            allowed: limit,
            asked: 1,
            ..Self::default()
        }
    }

    /// Goes on to the slice of time that the sender began, if it began one. Returns how much of what
    /// was queued before it is not complete, and when it began, in ns.
    pub fn next_slice<M: Sharing>(&mut self, ledger: &Ledger<M>) -> Option<(u32, u64)> {
        let slices = ledger.sender.slices.load_acquire();
        if slices == self.slices {
            return None;
        }
        self.slices = slices;
        let boundary = ledger.sender.slice_boundary.load();
        // Negative after a reset that was begun since.
        let left = (boundary.wrapping_sub(self.num_completed) as i32).max(0) as u32;
        Some((left, ledger.sender.slice_at_ns.load()))
    }

    /// All is complete that was queued before this slice.
    pub fn slice_done<M: Sharing>(&self, ledger: &Ledger<M>) {
        ledger.completer.slices_done.store_release(self.slices);
    }

    /// What the sender has queued. It may queue more at any time.
    #[inline]
    pub fn sender_side<M: Sharing>(&self, ledger: &Ledger<M>) -> SenderSide {
        let num_queued = ledger.sender.num_queued.load_acquire();
        SenderSide {
            num_queued: num_queued.wrapping_sub(self.base),
            in_flight: num_queued.wrapping_sub(self.num_completed),
        }
    }

    /// The size of the object queued last; may be a later one than the totals that were read.
    #[inline]
    pub fn last_object<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        ledger.sender.last_object.load()
    }

    /// Completed since the last reset, wrapping.
    #[inline]
    pub fn num_completed(&self) -> u32 {
        self.num_completed.wrapping_sub(self.base)
    }

    /// When the sender queued first since the last question; `None` while it is away.
    #[inline]
    pub fn returned_ns<M: Sharing>(&self, ledger: &Ledger<M>) -> Option<u64> {
        (ledger.sender.answered.load_acquire() == self.asked)
            .then(|| ledger.sender.returned_ns.load())
    }

    /// Times that the sender was refused since the last reset, wrapping.
    #[inline]
    pub fn refusals<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        ledger
            .sender
            .refusals
            .load()
            .wrapping_sub(self.refusals_base)
    }

    /// Asks for the time of the next object, unless a question is open. Call it before the room is
    /// published: the sender that finds the room then finds the question.
    #[inline]
    pub fn ask<M: Sharing>(&mut self, ledger: &Ledger<M>) {
        // An open question stays: the next object answers it.
        if ledger.sender.answered.load() == self.asked {
            self.asked = self.asked.wrapping_add(1);
            ledger.completer.asked.store_release(self.asked);
        }
    }

    /// Counts `units`, at most what is in flight, and publishes the room below `limit`.
    #[inline]
    pub fn completed<M: Sharing>(&mut self, ledger: &Ledger<M>, units: u32, limit: u32) {
        self.num_completed = self.num_completed.wrapping_add(units);
        self.publish(ledger, limit);
    }

    #[inline]
    fn publish<M: Sharing>(&mut self, ledger: &Ledger<M>, limit: u32) {
        self.allowed = limit.wrapping_add(self.num_completed);
        ledger.completer.allowed.store(self.allowed);
        // Release: an observer that sees this total also sees that so much was queued.
        ledger
            .completer
            .num_completed
            .store_release(self.num_completed);
    }

    /// Whether one more object may be queued, with the sender's total read again.
    #[inline]
    pub fn has_room<M: Sharing>(&self, ledger: &Ledger<M>) -> bool {
        let room = self
            .allowed
            .wrapping_sub(ledger.sender.num_queued.load_acquire());
        room as i32 >= 0
    }

    /// The reset that the sender began last.
    #[inline]
    pub fn reset_begun<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        ledger.sender.reset_begun.load_acquire()
    }

    /// What the sender had queued when it began `reset`; `None` if it begins the next one just now.
    /// Read what else belongs to the boundary before: if this knows it, that was of `reset`, too.
    pub fn reset_boundary<M: Sharing>(&self, ledger: &Ledger<M>, reset: u32) -> Option<u32> {
        let boundary = ledger.sender.reset_boundary.load();
        (boundary >> 32 == u64::from(reset)).then_some(boundary as u32)
    }

    /// Completes all that was queued before `boundary`, and counts anew.
    pub fn finish_reset<M: Sharing>(&mut self, ledger: &Ledger<M>, boundary: u32, limit: u32) {
        self.num_completed = boundary;
        self.count_anew(ledger, limit);
    }

    /// Puts right what is in flight, while the sender does nothing, and counts anew.
    pub fn set_in_flight<M: Sharing>(&mut self, ledger: &Ledger<M>, units: u32, limit: u32) {
        let num_queued = ledger.sender.num_queued.load_acquire();
        self.num_completed = num_queued.wrapping_sub(units);
        self.count_anew(ledger, limit);
    }

    fn count_anew<M: Sharing>(&mut self, ledger: &Ledger<M>, limit: u32) {
        self.base = self.num_completed;
        self.refusals_base = ledger.sender.refusals.load();
        self.ask(ledger);
        self.publish(ledger, limit);
    }
}
