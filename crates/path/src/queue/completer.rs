//! The completing half of a queue, on a thread of its own.

use taut_dql::Stall;

use super::admission::Admission;
use super::complete::CompleteHalf;
use super::context::Context;
use super::counters::CompleterCounters;
use super::error::CompleteError;
use super::outcome::{Completed, Snapshot};
use super::shared::HalfHandle;
use crate::driver::Completions;
use crate::limit::{AnyLimit, Limit};
use crate::packet::PacketSink;
use crate::probe::Probe;

/// The completing half: the rule, the completer's half of the ledger, the stall detector, and the
/// completion half of the ring.
pub struct Completer<C, L = AnyLimit, P = (), A = ()> {
    // Dropped before the handle: the other half is woken last.
    pub(super) half: CompleteHalf<L, A>,
    pub(super) shared: HalfHandle,
    pub(super) completions: C,
    pub(super) probe: P,
}

impl<C, L: Limit, P: Probe, A: Admission> Completer<C, L, P, A> {
    /// Checks for a stall, as [`complete`](Self::complete) does.
    pub fn check_stall(&mut self, now_ns: u64) -> Option<Stall> {
        self.half.check_stall(&self.shared, now_ns, &mut self.probe)
    }

    /// Returns when to call [`complete`](Self::complete) even if the device reports nothing, in ns;
    /// 0 is now, to end a reset.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.half.next_wakeup(&self.shared)
    }

    /// Returns `true` if the sending half was dropped: no packets follow those in flight.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Returns the limit and the ledger, in the limit's units.
    pub fn snapshot(&self) -> Snapshot {
        self.half.snapshot(&self.shared)
    }

    /// Returns the counters of this half.
    pub fn counters(&self) -> CompleterCounters {
        self.shared.completer.read()
    }

    /// Returns how often a waiting sender was woken, wrapping.
    pub fn wakeups(&self) -> u32 {
        self.shared.room.wakeups()
    }

    /// Returns the completion half of the ring.
    pub fn completions(&self) -> &C {
        &self.completions
    }
}

impl<C: Completions, L: Limit, P: Probe, A: Admission> Completer<C, L, P, A> {
    /// Reaps completed packets: each goes to `sink` immediately, their sum to the limit. Call it
    /// when the device interrupts, and at [`next_wakeup`](Self::next_wakeup).
    ///
    /// # Errors
    /// See [`CompleteError`]. Packets and room are returned in any case. Call it again after an
    /// error: the next batch that succeeds reports the results that the error hid (packets and
    /// bytes, a start, a stall, pending completions). While every call fails,
    /// [`check_stall`](Self::check_stall) returns the stall.
    pub fn complete<S: PacketSink + ?Sized>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<Completed, CompleteError<C::Error>> {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.half.complete(&self.shared, &mut self.completions, at)
    }
}
