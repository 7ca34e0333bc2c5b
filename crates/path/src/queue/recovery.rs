//! Resets, repairs and the limit switch of the completing half.

use super::admission::Admission;
use super::complete::CompleteHalf;
use super::counters::add;
use super::error::RepairError;
use super::outcome::Repair;
use super::shared::Shared;
use crate::driver::InRing;
use crate::limit::{Limit, Unit};
use crate::probe::{Event, Probe};
use crate::sharing::Sharing;

impl<L: Limit, A: Admission> CompleteHalf<L, A> {
    /// Ends a reset that the sender began and waits for.
    #[inline]
    pub(super) fn end_reset<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) {
        if let Some(reset) = shared.reset.to_end() {
            self.reset(shared, reset, now_ns, probe);
        }
    }

    #[cold]
    fn reset<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        reset: u32,
        now_ns: u64,
        probe: &mut P,
    ) {
        self.control.reset(&shared.ledger, 0, now_ns);
        self.forget_past();
        let num_queued = shared.ledger.num_queued();
        self.stalls.reset(&shared.generations, num_queued, now_ns);
        self.sorter.begin_epoch(reset, self.stalls.newest());
        add(&shared.completer.resets, 1);
        self.admission.correct(0, now_ns);
        shared.settings.set_config(self.control.rule());
        shared.reset.end(reset);
        self.open_again(shared);
        probe.event(now_ns, Event::Reset);
        if probe.is_enabled() {
            probe.event(now_ns, Event::Limit(self.shown_limit()));
        }
    }

    /// Discards measurements of the ring from before a reset or a repair.
    fn forget_past(&mut self) {
        self.deferred.forget_stall();
        if let Some(coalescer) = &mut self.coalescer {
            coalescer.reset();
        }
        if let Some(chunks) = &mut self.chunks {
            chunks.reset();
        }
    }

    /// Clears every stop, and wakes a sender that waits for room.
    fn open_again<M: Sharing>(&mut self, shared: &Shared<M>) {
        // Pairs with the fence of a sender that closes its gate and checks again.
        M::full_fence();
        shared.stack.open();
        shared.driver.open();
        self.deferred.schedule();
        shared.room.notify();
    }

    /// Corrects the ledger while the sender is idle. The limit stays.
    pub(super) fn repair<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        in_ring: InRing,
        now_ns: u64,
        probe: &mut P,
    ) -> Result<Repair, RepairError> {
        let in_flight = match self.unit {
            Unit::Bytes => in_ring.bytes,
            Unit::Packets => in_ring.packets,
        };
        if i32::try_from(in_flight).is_err() {
            return Err(RepairError::TooMuch { units: in_flight });
        }
        // First, because the end of a reset would overwrite the correction.
        self.end_reset(shared, now_ns, probe);
        if self.stalls.is_behind(&shared.generations) {
            self.follow_generation(shared);
        }
        let was_in_flight = shared.ledger.completer_in_flight();
        self.control.repair(&shared.ledger, in_flight, now_ns);
        let num_queued = shared.ledger.num_queued();
        self.stalls.repair(num_queued, in_flight, now_ns);
        self.forget_past();
        self.admission.correct(in_ring.bytes, now_ns);
        add(&shared.completer.repairs, 1);
        self.open_again(shared);
        let repair = Repair {
            was_in_flight,
            in_flight,
        };
        probe.event(now_ns, Event::Repaired(repair));
        Ok(repair)
    }

    /// Completions have become early, or valid again: the limit is disabled, or applied again.
    #[cold]
    pub(super) fn switch_limit<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) {
        let early = !self.control.is_disabled();
        self.control.set_disabled(&shared.ledger, early);
        shared.settings.set_early_completions(early);
        probe.event(now_ns, Event::CompletionsValid(!early));
        if probe.is_enabled() {
            probe.event(now_ns, Event::Limit(self.shown_limit()));
        }
    }
}
