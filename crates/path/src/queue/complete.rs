//! The completing half, generic over the way it shares the queue with the sending half.

use taut_dql::control::Control;
use taut_dql::stall::StallDetector;
use taut_dql::{Coalescer, Error, Stall};

use super::admission::Admission;
use super::chunks::ChunkReassembler;
use super::context::Context;
use super::counters::add;
use super::deferred::Deferred;
use super::error::CompleteError;
use super::outcome::Completed;
use super::shared::Shared;
use super::sort::{SentIn, Sorter};
use crate::driver::Completions;
use crate::limit::{CompletedCounts, CompletionBatch, Limit, Unit};
use crate::packet::{Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::sharing::{Sharing, Wide};

/// The completer's own state of a queue.
pub(super) struct CompleteHalf<L, A> {
    /// The rule, and the completer's side of the ledger.
    pub control: Control<L>,
    pub unit: Unit,
    pub sorter: Sorter,
    pub stalls: StallDetector,
    pub coalescer: Option<Coalescer>,
    pub deferred: Deferred,
    pub restart_slots: u32,
    pub reap_budget_packets: u32,
    /// Collects the chunks of GSO packets, if they are sent in chunks.
    pub chunks: Option<ChunkReassembler>,
    pub admission: A,
}

impl<L: Limit, A: Admission> CompleteHalf<L, A> {
    #[inline]
    pub(super) fn complete<M: Sharing, C: Completions, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        completions: &mut C,
        at: Context<'_, S, P>,
    ) -> Result<Completed, CompleteError<C::Error>> {
        let Context {
            now_ns,
            sink,
            probe,
        } = at;
        if M::SHARED {
            // Before the reap, so that returned packets are sorted by the new epoch.
            self.end_reset(shared, now_ns, probe);
        }
        if self.stalls.is_behind(&shared.generations) {
            self.follow_generation(shared);
        }
        let reaped = completions.reap(now_ns, self.reap_budget_packets, &mut |packet| {
            // Count before the sink runs, because the sink might panic.
            if self.sorter.count_current(&packet) {
                sink.freed(packet);
            } else {
                self.end_other(shared, packet, sink);
            }
        });
        if completions.completions_valid() == self.control.is_disabled() {
            self.switch_limit(shared, now_ns, probe);
        }
        // Packets that were returned before an error are complete even if the reap failed.
        let more_pending = *reaped.as_ref().unwrap_or(&false);
        let returned_packets = self.sorter.packets();
        let (mut stale_packets, mut unknown_packets) = (0, 0);
        if self.sorter.has_other {
            (stale_packets, unknown_packets) = self.take_other(shared, now_ns, sink, probe);
        }
        let counts = self.take_current(shared);
        debug_assert_eq!(
            counts.packets + stale_packets + unknown_packets,
            returned_packets,
            "each returned packet is counted once"
        );
        self.count(shared, counts, more_pending, now_ns, probe);
        let stalled = self.check_stall(shared, now_ns, probe);
        let schedule = self.restart(shared, completions, counts.packets > 0, now_ns, probe);
        if M::SHARED {
            self.apply_requests(shared);
        }
        let completed = Completed {
            counts,
            stale_packets,
            schedule,
            more_pending,
            stalled,
        };
        let error = reaped.err().map(CompleteError::Driver);
        let error = error.or_else(|| CompleteError::of_unknown(unknown_packets));
        self.deferred.settle(completed, error)
    }

    /// Ends a packet that is not a whole packet of the newest generation.
    #[cold]
    #[inline(never)]
    fn end_other<M: Sharing, S: PacketSink + ?Sized>(
        &mut self,
        shared: &Shared<M>,
        packet: Packet,
        sink: &mut S,
    ) {
        // The sender might have begun a generation during this reap.
        if self.stalls.is_behind(&shared.generations) {
            self.follow_generation(shared);
        }
        match self.sorter.count_other(&packet) {
            SentIn::OtherQueue => return sink.unknown_completion(packet),
            SentIn::OlderGeneration => {
                let units = match self.unit {
                    Unit::Bytes => packet.wire_bytes(),
                    Unit::Packets => 1,
                };
                self.stalls.completed_in(packet.tag.generation(), units);
            }
            SentIn::CurrentGeneration | SentIn::OlderEpoch => {}
        }
        match &mut self.chunks {
            Some(chunks) if packet.is_chunk() => {
                self.sorter.has_other = true;
                chunks.complete(&packet, sink);
            }
            _ => sink.freed(packet),
        }
    }

    /// Continues with the generation that the sender began.
    #[cold]
    pub(super) fn follow_generation<M: Sharing>(&mut self, shared: &Shared<M>) {
        let current = self.sorter.current;
        self.stalls
            .follow(&shared.generations, current.units(self.unit));
        self.sorter.begin_generation(self.stalls.newest());
    }

    /// Takes the packets returned since the last call that count for the limit.
    #[inline]
    fn take_current<M: Sharing>(&mut self, shared: &Shared<M>) -> CompletedCounts {
        let count = core::mem::take(&mut self.sorter.current);
        add(&shared.completer.completed_packets, count.packets.into());
        add(&shared.completer.completed_bytes, count.bytes);
        count.counts()
    }

    /// Takes all other packets. Those of older generations count for the limit, too. Returns the
    /// number of stale packets, and of packets that this queue never sent.
    #[cold]
    fn take_other<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        sink: &mut S,
        probe: &mut P,
    ) -> (u32, u32) {
        let other = self.sorter.take_other();
        self.sorter.current = self.sorter.current.and(other.older);
        add(&shared.completer.stale_packets, other.stale_packets.into());
        let unknown_packets = other.unknown_packets;
        if unknown_packets > 0 {
            add(
                &shared.completer.unknown_completions,
                unknown_packets.into(),
            );
            probe.event(now_ns, Event::UnknownCompletions(unknown_packets));
        }
        if let Some(chunks) = &mut self.chunks {
            chunks.flush(sink);
        }
        (other.stale_packets, unknown_packets)
    }

    /// Counts the completed units, or the part that the coalescer releases.
    #[inline]
    fn count<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        counts: CompletedCounts,
        more_pending: bool,
        now_ns: u64,
        probe: &mut P,
    ) {
        if counts.packets > 0 {
            add(&shared.completer.batches, 1);
            probe.event(now_ns, Event::Completed(counts));
        }
        let units = match self.unit {
            Unit::Bytes => counts.bytes,
            Unit::Packets => counts.packets,
        };
        self.stalls.completed(units);
        let units = match &mut self.coalescer {
            None => units,
            Some(coalescer) => coalesce(coalescer, units, self.control.rule().limit(), now_ns),
        };
        if self.control.must_pass(units) {
            self.pass_on(shared, units, more_pending && units > 0, now_ns, probe);
        }
        if counts.packets > 0 {
            self.admission.release(counts.bytes, now_ns);
        }
    }

    /// Passes a batch to the rule and publishes the room below the new limit.
    #[inline]
    fn pass_on<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        units: u32,
        more_pending: bool,
        now_ns: u64,
        probe: &mut P,
    ) {
        let batch = shared.ledger.batch(units, more_pending, now_ns);
        let batch = batch.or_else(|error| possible_batch(shared, error, more_pending, now_ns));
        let Ok(batch) = batch else {
            return;
        };
        let (unit, chunks) = (self.unit, &mut self.chunks);
        let rate_is_known = self.control.rule().needs().rate && unit == Unit::Bytes;
        let is_observed = probe.is_enabled();
        let limit = self
            .control
            .completed(&shared.ledger, batch, is_observed, |batch| {
                if let Some(chunks) = chunks {
                    chunks.record(shared, batch, unit, rate_is_known);
                }
                probe.event(now_ns, Event::Batch(batch));
            });
        if M::SHARED {
            shared.settings.set_limit(limit);
        }
        if is_observed && units > 0 {
            probe.event(now_ns, Event::Limit(self.shown_limit()));
        }
    }

    /// Clears each stop whose reason no longer holds. Returns `true` if the sender must be run.
    #[inline]
    fn restart<M: Sharing, C: Completions, P: Probe>(
        &self,
        shared: &Shared<M>,
        completions: &C,
        has_completed: bool,
        now_ns: u64,
        probe: &mut P,
    ) -> bool {
        // One fence for both gates and the reset: room and slots are published, and the flags of
        // the sender are read after it.
        M::full_fence();
        let is_requested = M::SHARED && shared.reset.is_requested();
        if shared.is_open() && !is_requested {
            return self.admission.starts_itself();
        }
        let is_requested = is_requested && !shared.begin_reset_if_closed();
        // Also with a coalescer: a device that ran dry while the queue was stopped completed more
        // than the limit, which the coalescer releases immediately.
        if has_completed && shared.stack.is_closed() && shared.ledger.completer_in_flight() == 0 {
            add(&shared.completer.starved, 1);
            probe.event(now_ns, Event::Starved);
        }
        let stack = shared
            .stack
            .open_if_fenced(|| shared.ledger.has_room() && self.admission.may_start());
        let driver = shared
            .driver
            .open_if_fenced(|| completions.slots_free() >= self.restart_slots);
        let schedule = is_requested || (stack || driver) && shared.is_open();
        if schedule {
            shared.room.notify();
        }
        // A queue that runs now shares the remaining room when it stops.
        schedule || self.admission.starts_itself()
    }

    /// Checks for a stall without a completion, which might never come.
    #[inline]
    pub(super) fn check_stall<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) -> Option<Stall> {
        if !self.stalls.is_due(now_ns) {
            return None;
        }
        self.find_stall(shared, now_ns, probe)
    }

    #[inline(never)]
    fn find_stall<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) -> Option<Stall> {
        if self.stalls.is_behind(&shared.generations) {
            self.follow_generation(shared);
        }
        let ledger = &shared.ledger;
        let is_stuck = shared.driver.is_closed() && ledger.completer_in_flight() == 0;
        let num_queued = ledger.num_queued();
        let stall = self
            .stalls
            .check(&shared.generations, num_queued, is_stuck, now_ns)?;
        shared.completer.stalls.store(self.stalls.count());
        let longest_ns = self.stalls.longest_ns();
        shared.completer.longest_stall_ns.store(longest_ns);
        probe.event(now_ns, Event::Stalled(stall));
        Some(stall)
    }

    /// Returns when to call `complete` even if the device reports nothing, in ns.
    pub(super) fn next_wakeup<M: Sharing>(&self, shared: &Shared<M>) -> Option<u64> {
        let coalescer_ns = self.coalescer.as_ref().and_then(Coalescer::next_wakeup);
        let num_queued = shared.ledger.num_queued();
        let is_full = shared.driver.is_closed();
        let stall_ns = self
            .stalls
            .next_wakeup(&shared.generations, num_queued, is_full);
        // A reset that the sender began ends with the next call.
        let reset_ns = (M::SHARED && shared.reset.to_end().is_some()).then_some(0);
        let times_ns = [coalescer_ns, stall_ns, reset_ns];
        times_ns.into_iter().flatten().min()
    }
}

/// Limits the batch to the units in flight: units that a repair wrote off can return later, and are
/// complete already.
#[cold]
fn possible_batch<M: Sharing>(
    shared: &Shared<M>,
    error: Error,
    more_pending: bool,
    now_ns: u64,
) -> Result<CompletionBatch, Error> {
    let Error::OverCompletion { in_flight, .. } = error else {
        return Err(error);
    };
    debug_assert!(shared.completer.repairs.load() > 0, "{error}");
    shared.ledger.batch(in_flight, more_pending, now_ns)
}

/// Returns the units that the coalescer releases now.
fn coalesce(coalescer: &mut Coalescer, units: u32, limit: u32, now_ns: u64) -> u32 {
    let passed_on = match units {
        0 => coalescer.poll(now_ns),
        _ => coalescer.add(units, limit, now_ns),
    };
    passed_on.unwrap_or_default()
}
