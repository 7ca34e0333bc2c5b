//! What a completer does, whoever shares the queue with it.

use taut_dql::{Cadence, Config, MAX_LIMIT, Stall, StallWatch};

use super::counters::add as count_up;
use super::error::{CompleteError, RepairError};
use super::pieces::{Pieces, Units, end_odd};
use super::reaped::{Count, Reaped};
use super::send_side::Context;
use super::shared::Shared;
use super::watch::Heard;
use super::{Completed, QueueConfig, Repair, Snapshot};
use crate::budget::Member;
use crate::driver::{Completions, InRing};
use crate::knobs::{Knob, KnobError, NS_PER_MS, Setting};
use crate::ledger::CompleterLedger;
use crate::limit::{CompletionBatch, Done, Limit, Unit};
use crate::packet::{PacketSink, SentMark};
use crate::probe::{Event, Probe};
use crate::rate::{RateMeter, RateSample};
use crate::sharing::{Sharing, Wide};
use crate::split::Joiner;

/// The completer's own part of a queue.
pub(crate) struct CompleteSide<L> {
    rule: L,
    unit: Unit,
    /// By how much the limit that an operator reads is above the one that the ledger holds: a depth
    /// in packets admits one less than a soft limit.
    shown_above: u32,
    pub(super) ledger: CompleterLedger,
    /// What packets of this epoch are marked with, and the reset that began it.
    mark: SentMark,
    reset: u32,
    reaped: Reaped,
    /// The rule was told that more comes.
    chain_is_open: bool,
    cadence: Option<Cadence>,
    /// How fast the device sends, if somebody wants to know.
    rate: Option<RateMeter>,
    /// What joins the pieces of super-packets, if they go in pieces.
    pieces: Option<Pieces>,
    pub(super) stall: StallWatch,
    /// Before this there can be no stall, in ns.
    stall_due_ns: u64,
    /// When to look again at a device that stands still, in ns.
    stalled_until_ns: u64,
    /// Since when the ledger is right, in ns: the age of what was in flight before a reset or a
    /// repair says nothing.
    right_since_ns: u64,
    /// When this half was called last, and since when the ring is full with nothing in flight, in ns.
    completed_ns: u64,
    full_since_ns: Option<u64>,
    /// Units in flight that were sent before this slice of time, and when it began, in ns.
    old_units: u32,
    slice_at_ns: u64,
    old_stall: OldStall,
    restart_slots: u32,
    reap_budget_packets: u32,
    /// A round that failed started the queue again, and its caller was not told; nor of what was
    /// handed back in it.
    schedule_owed: bool,
    owes: bool,
    done_owed: Done,
    late_owed_packets: u32,
    /// Completions mean that packets left the device. While they do not, there is no limit.
    trusted: bool,
    pub(super) budget: Option<Member>,
    /// Settings that others asked for, as far as they were heard.
    heard: Heard,
}

/// Stalls of single units, while others complete around them.
#[derive(Debug, Default)]
struct OldStall {
    lasts: bool,
    count: u64,
    longest_ns: u64,
}

impl OldStall {
    /// Whether what is in flight since `since_ns`, if anything is, is too old. A stall counts once.
    fn check(&mut self, since_ns: Option<u64>, threshold_ns: u64, now_ns: u64) -> Option<Stall> {
        let too_old =
            |&since_ns: &u64| threshold_ns > 0 && now_ns.saturating_sub(since_ns) > threshold_ns;
        let Some(since_ns) = since_ns.filter(too_old) else {
            self.lasts = false;
            return None;
        };
        self.count += u64::from(!core::mem::replace(&mut self.lasts, true));
        let age_ns = now_ns - since_ns;
        self.longest_ns = self.longest_ns.max(age_ns);
        Some(Stall { age_ns, since_ns })
    }
}

impl<L: Limit> CompleteSide<L> {
    pub(super) fn new(
        rule: L,
        mark: SentMark,
        restart_slots: u32,
        config: &QueueConfig,
        joiner: Option<Joiner>,
    ) -> Self {
        let rate = rule.needs().rate.then(RateMeter::new);
        let cadence = (config.cadence_ns > 0).then(|| Cadence::new(config.cadence_ns));
        Self {
            ledger: CompleterLedger::new(rule.limit().min(MAX_LIMIT)),
            unit: rule.unit(),
            shown_above: rule.config().limit.wrapping_sub(rule.limit()),
            rule,
            mark,
            reset: 0,
            reaped: Reaped::NOTHING,
            chain_is_open: false,
            cadence,
            rate,
            pieces: joiner.map(|joiner| Pieces::new(joiner, config.split)),
            stall: StallWatch::new(config.stall_threshold_ns),
            stall_due_ns: 0,
            stalled_until_ns: 0,
            right_since_ns: 0,
            completed_ns: 0,
            full_since_ns: None,
            old_units: 0,
            slice_at_ns: 0,
            old_stall: OldStall::default(),
            restart_slots,
            reap_budget_packets: config.reap_budget_packets,
            schedule_owed: false,
            owes: false,
            done_owed: Done::default(),
            late_owed_packets: 0,
            trusted: true,
            budget: None,
            heard: Heard::default(),
        }
    }

    #[inline]
    pub(super) fn complete<M: Sharing, C: Completions, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        completions: &mut C,
        at: Context<'_, S, P>,
    ) -> Result<Completed, CompleteError<C::Error>> {
        if M::SHARED {
            self.finish_reset(shared, at.now_ns, at.probe);
        }
        let (reaped, ledger, mark) = (&mut self.reaped, &self.ledger, self.mark);
        let pieces = &mut self.pieces;
        let sink = at.sink;
        let more = completions.reap(at.now_ns, self.reap_budget_packets, &mut |packet| {
            // Before the sink, which may panic.
            if reaped.count(packet.sent, packet.wire_bytes(), mark) {
                sink.freed(packet);
                return;
            }
            let newest = || mark.after_resets(ledger.reset_begun(&shared.ledger));
            end_odd(packet, reaped, mark, newest, pieces, sink);
        });
        if completions.completions_are_true() != self.trusted {
            self.trust(shared, !self.trusted, at.now_ns, at.probe);
        }
        // What was handed out before an error is complete all the same.
        let (mut completed, packets) = self.account(
            shared,
            *more.as_ref().unwrap_or(&false),
            at.now_ns,
            at.probe,
            sink,
        );
        self.schedule_owed |= self.restart(shared, completions);
        if M::SHARED {
            self.hear(shared);
        }
        let failed = match more {
            Err(error) => Some(CompleteError::Driver(error)),
            Ok(_) if packets > 0 => Some(CompleteError::Stray { packets }),
            Ok(_) => None,
        };
        if let Some(error) = failed {
            self.owe(&completed);
            return Err(error);
        }
        if self.owes {
            self.pay(&mut completed);
        }
        completed.schedule = core::mem::take(&mut self.schedule_owed);
        Ok(completed)
    }

    /// A round failed whose caller is not told what was handed back in it.
    #[cold]
    fn owe(&mut self, completed: &Completed) {
        self.owes = true;
        self.done_owed.packets += completed.done.packets;
        self.done_owed.bytes = self.done_owed.bytes.saturating_add(completed.done.bytes);
        self.late_owed_packets += completed.late_packets;
    }

    #[cold]
    fn pay(&mut self, completed: &mut Completed) {
        self.owes = false;
        let owed = core::mem::take(&mut self.done_owed);
        completed.done.packets += owed.packets;
        completed.done.bytes = completed.done.bytes.saturating_add(owed.bytes);
        completed.late_packets += core::mem::take(&mut self.late_owed_packets);
    }

    /// The driver's word about its completions changed, and with it whether there is a limit.
    #[cold]
    fn trust<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        trusted: bool,
        now_ns: u64,
        probe: &mut P,
    ) {
        self.trusted = trusted;
        self.ledger.completed(&shared.ledger, 0, self.limit());
        shared.published.trust(trusted);
        probe.event(now_ns, Event::CompletionsTrue(trusted));
        if probe.listens() {
            probe.event(now_ns, Event::Limit(self.shown_limit()));
        }
    }

    /// What the ledger holds to: more than [`MAX_LIMIT`] it cannot.
    #[inline]
    fn limit(&self) -> u32 {
        if self.trusted {
            self.rule.limit().min(MAX_LIMIT)
        } else {
            MAX_LIMIT
        }
    }

    /// What an operator reads.
    fn shown_limit(&self) -> u32 {
        if self.trusted {
            self.rule.config().limit
        } else {
            MAX_LIMIT
        }
    }

    /// Accounts for what was handed back. Says also how many packets were not ours.
    #[inline]
    fn account<M: Sharing, P: Probe, S: PacketSink + ?Sized>(
        &mut self,
        shared: &Shared<M>,
        more: bool,
        now_ns: u64,
        probe: &mut P,
        sink: &mut S,
    ) -> (Completed, u32) {
        let mut completed = Completed {
            more,
            ..Completed::default()
        };
        let mut stray_packets = 0;
        // One branch for both.
        if self.reaped.is_odd | self.reaped.has_pieces {
            stray_packets = self.account_odd(shared, &mut completed, now_ns, probe, sink);
        }
        let count = core::mem::take(&mut self.reaped.done);
        let counters = &shared.published.completer;
        count_up(&counters.completed_packets, count.packets.into());
        count_up(&counters.completed_bytes, count.bytes);
        completed.done = count.done();
        self.tell_rule(shared, completed.done, more, now_ns, probe);
        completed.stalled = self.check_stall(shared, now_ns, probe);
        (completed, stray_packets)
    }

    /// What came back and does not simply count. Returns how much of it was not ours.
    #[cold]
    fn account_odd<M: Sharing, P: Probe, S: PacketSink + ?Sized>(
        &mut self,
        shared: &Shared<M>,
        completed: &mut Completed,
        now_ns: u64,
        probe: &mut P,
        sink: &mut S,
    ) -> u32 {
        // Before the sink, which may panic.
        if core::mem::take(&mut self.reaped.has_pieces)
            && let Some(pieces) = &mut self.pieces
        {
            pieces.join(sink);
        }
        if !self.reaped.is_odd {
            return 0;
        }
        // Whoever sees a packet of a later epoch sees that it has begun.
        self.finish_reset(shared, now_ns, probe);
        let counters = &shared.published.completer;
        let odd = self.reaped;
        self.reaped = Reaped {
            done: odd.done,
            next: odd.next,
            next_mark: odd.next_mark,
            other_slice: odd.other_slice,
            is_odd: odd.next.packets > 0,
            ..Reaped::NOTHING
        };
        self.sort_slices(shared);
        count_up(&counters.late_packets, u64::from(odd.late_packets));
        count_up(&counters.stray_packets, u64::from(odd.stray_packets));
        completed.late_packets = odd.late_packets;
        if odd.stray_packets > 0 {
            probe.event(now_ns, Event::Stray(odd.stray_packets));
        }
        odd.stray_packets
    }

    /// Tells what was sent before this slice of time from what was sent in it: what of the former is
    /// still in flight is old, whatever completes meanwhile.
    fn sort_slices<M: Sharing>(&mut self, shared: &Shared<M>) {
        let other = core::mem::take(&mut self.reaped.other_slice);
        let (done, other_units) = (self.units(self.reaped.done), self.units(other));
        match self.ledger.next_slice(&shared.ledger) {
            Some((left, at_ns)) => {
                // What a cadence holds back is complete, too.
                let pending = self.cadence.as_ref().map_or(0, Cadence::pending);
                self.old_units = left.saturating_sub(pending).saturating_sub(done);
                self.slice_at_ns = at_ns;
                self.mark = self.mark.other_slice();
            }
            None => self.old_units = self.old_units.saturating_sub(other_units),
        }
        self.reaped.done = self.reaped.done.and(other);
        self.watch_old(shared);
    }

    /// Sees to it that old units are looked for in time.
    fn watch_old<M: Sharing>(&mut self, shared: &Shared<M>) {
        if self.old_units == 0 {
            self.ledger.slice_done(&shared.ledger);
            return;
        }
        let threshold_ns = self.stall.threshold_ns();
        if threshold_ns > 0 {
            let due_ns = self.slice_at_ns.saturating_add(threshold_ns) + 1;
            self.stall_due_ns = self.stall_due_ns.min(due_ns);
        }
    }

    /// What was in flight is forgotten, whenever it was sent.
    fn forget_old<M: Sharing>(&mut self, shared: &Shared<M>) {
        self.old_units = 0;
        self.stalled_until_ns = 0;
        self.ledger.slice_done(&shared.ledger);
    }

    fn units(&self, count: Count) -> u32 {
        match self.unit {
            Unit::Bytes => u32::try_from(count.bytes).unwrap_or(u32::MAX),
            Unit::Packets => count.packets,
        }
    }

    #[inline]
    fn tell_rule<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        done: Done,
        more: bool,
        now_ns: u64,
        probe: &mut P,
    ) {
        let counters = &shared.published.completer;
        if done.packets > 0 {
            count_up(&counters.rounds, 1);
            probe.event(now_ns, Event::Completed(done));
        }
        let units = self.hand_on(done, now_ns);
        if units > 0 || self.chain_is_open {
            // A round of nothing closes a chain, unless it is the driver's to go on.
            let more = more && units > 0;
            self.count(shared, units, more, now_ns, probe);
            if probe.listens() && units > 0 {
                probe.event(now_ns, Event::Limit(self.shown_limit()));
            }
        }
        if let Some(budget) = self.budget::<M>()
            && done.packets > 0
        {
            budget.release(done.bytes, now_ns);
        }
        // Also with a cadence: a device that ran dry while the queue was stopped finished more than
        // the limit, and that is handed on at once.
        if done.packets > 0
            && shared.stack.is_closed()
            && self.ledger.sender_side(&shared.ledger).in_flight == 0
        {
            count_up(&counters.starved, 1);
            probe.event(now_ns, Event::Starved);
        }
    }

    /// The units that the rule hears of now.
    #[inline]
    fn hand_on(&mut self, done: Done, now_ns: u64) -> u32 {
        let units = match self.unit {
            Unit::Bytes => done.bytes,
            Unit::Packets => done.packets,
        };
        match &mut self.cadence {
            None => units,
            Some(cadence) if units > 0 => cadence
                .add(units, self.rule.limit(), now_ns)
                .unwrap_or_default(),
            Some(cadence) => cadence.due(now_ns).unwrap_or_default(),
        }
    }

    /// Tells the rule of a round, and publishes the room that it leaves.
    #[inline]
    fn count<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        units: u32,
        more: bool,
        now_ns: u64,
        probe: &mut P,
    ) {
        let ledger = &shared.ledger;
        let side = self.ledger.sender_side(ledger);
        // What a repair took for lost may come back after all: it is complete already.
        let units = units.min(side.in_flight);
        let last_object = self.ledger.last_object(ledger);
        let left = side.in_flight - units;
        let measured = RateSample {
            now_ns,
            units,
            left,
            object: last_object,
        };
        let rate_per_s = match &mut self.rate {
            None => 0,
            Some(rate) => {
                rate.record(measured);
                rate.units_per_s()
            }
        };
        if let Some(pieces) = &mut self.pieces {
            let are_packets = self.unit == Unit::Packets;
            let known = self.rate.is_some() && !are_packets;
            let units = Units {
                round: measured,
                bytes_per_s: known.then_some(rate_per_s),
                are_packets,
            };
            pieces.round(shared, units);
        }
        let round = CompletionBatch {
            now_ns,
            units,
            in_flight: side.in_flight,
            last_object,
            more_pending: more,
            // The other half may have read its clock later than this one.
            sender_returned_ns: self
                .ledger
                .returned_ns(ledger)
                .map(|at_ns| at_ns.min(now_ns)),
            times_blocked: self.ledger.refusals(ledger),
            rate_per_s,
        };
        probe.event(now_ns, Event::Round(&round));
        // A rule may say "no limit" as it likes; more than this the ledger cannot hold. It goes on
        // hearing of rounds that mean nothing, for they may come to mean something.
        let ruled = self.rule.completed(&round).min(MAX_LIMIT);
        let limit = if self.trusted { ruled } else { MAX_LIMIT };
        if self.rule.needs().return_time {
            self.ledger.ask(ledger);
        }
        self.ledger.completed(ledger, units, limit);
        if M::SHARED {
            shared.published.limit(ruled.wrapping_add(self.shown_above));
        }
        self.chain_is_open = more;
        self.stall
            .completed(side.num_queued, self.ledger.num_completed(), now_ns);
    }

    /// The budget, which only a queue can have that others may start.
    #[inline]
    fn budget<M: Sharing>(&self) -> Option<&Member> {
        if M::SHARED {
            self.budget.as_ref()
        } else {
            None
        }
    }

    /// Clears each stop whose reason is gone. Returns whether the sender must be run.
    #[inline]
    fn restart<M: Sharing, C: Completions>(&self, shared: &Shared<M>, completions: &C) -> bool {
        M::full_fence();
        let asked = M::SHARED && shared.reset_asked() != self.reset;
        if shared.is_open() && !asked {
            return self.budget::<M>().is_some_and(Member::starts_itself);
        }
        let stack = shared.stack.open_if_fenced(|| {
            self.ledger.has_room(&shared.ledger) && self.budget::<M>().is_none_or(Member::may_start)
        });
        let driver = shared
            .driver
            .open_if_fenced(|| completions.slots_free() >= self.restart_slots);
        let schedule = asked || (stack || driver) && shared.is_open();
        if schedule {
            shared.room.notify(|| true);
        }
        // A queue that runs now shares what is left when it is through.
        schedule || self.budget::<M>().is_some_and(Member::starts_itself)
    }

    /// Looks for a stall without waiting for a completion that may never come.
    #[inline]
    pub(super) fn check_stall<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) -> Option<Stall> {
        self.completed_ns = now_ns;
        if now_ns < self.stall_due_ns {
            return None;
        }
        let stall = self.find_stall(shared, now_ns)?;
        probe.event(now_ns, Event::Stalled(stall));
        Some(stall)
    }

    /// Finds a stall, or when there can be one at the earliest.
    #[inline(never)]
    fn find_stall<M: Sharing>(&mut self, shared: &Shared<M>, now_ns: u64) -> Option<Stall> {
        let queued = self.ledger.sender_side(&shared.ledger).num_queued;
        let completed = self.ledger.num_completed();
        let busy_since_ns = shared.ledger.busy_since_ns().max(self.right_since_ns);
        let stall = self.stall.check(queued, completed, busy_since_ns, now_ns);
        // A ring that is full with nothing in flight holds what a reset has forgotten.
        let is_stuck = queued == completed && shared.driver.is_closed();
        self.full_since_ns = is_stuck.then(|| self.full_since_ns.unwrap_or(now_ns));
        let since_ns = self.old().or(self.full_since_ns);
        let threshold_ns = self.stall.threshold_ns();
        let old = self.old_stall.check(since_ns, threshold_ns, now_ns);
        let stall = match (stall, old) {
            (Some(stall), Some(old)) if stall.age_ns < old.age_ns => Some(old),
            (stall, old) => stall.or(old),
        };
        self.stall_due_ns = match self.stall.threshold_ns() {
            0 => u64::MAX,
            threshold_ns if stall.is_some() => {
                self.stalled_until_ns = now_ns.saturating_add(threshold_ns);
                now_ns
            }
            // What is queued later is younger than what is the oldest now.
            threshold_ns => {
                let age_ns = match self.full_since_ns {
                    Some(since_ns) => now_ns.saturating_sub(since_ns),
                    None => self.stall.age_ns(queued, completed, busy_since_ns, now_ns),
                };
                now_ns.saturating_add(threshold_ns.saturating_sub(age_ns) + 1)
            }
        };
        if stall.is_some() {
            let counters = &shared.published.completer;
            let longest_ns = self.stall.longest_ns().max(self.old_stall.longest_ns);
            counters.stalls.store(self.stall_count());
            counters.longest_stall_ns.store(longest_ns);
        } else {
            self.watch_old(shared);
        }
        stall
    }

    /// Since when units are in flight that are known to be old, if there are any.
    fn old(&self) -> Option<u64> {
        (self.old_units > 0).then_some(self.slice_at_ns)
    }

    fn stall_count(&self) -> u64 {
        self.stall.count() + self.old_stall.count
    }

    /// When to complete even if the device says nothing, in ns.
    pub(super) fn next_wakeup<M: Sharing>(&self, shared: &Shared<M>) -> Option<u64> {
        let cadence_ns = self.cadence.as_ref().and_then(Cadence::next_wakeup);
        let threshold_ns = self.stall.threshold_ns();
        if threshold_ns == 0 {
            return cadence_ns;
        }
        let in_flight = self.ledger.sender_side(&shared.ledger).in_flight;
        let stall_ns = if in_flight > 0 {
            let busy_since_ns = shared.ledger.busy_since_ns().max(self.right_since_ns);
            let oldest_ns = busy_since_ns.saturating_add(threshold_ns).saturating_add(1);
            let oldest_ns = match self.old() {
                Some(since_ns) => oldest_ns.min(since_ns.saturating_add(threshold_ns + 1)),
                None => oldest_ns,
            };
            // While it stands still, once in a threshold is enough.
            oldest_ns.max(self.stall_due_ns).max(self.stalled_until_ns)
        } else if M::SHARED || shared.driver.is_closed() {
            // Another thread may send at any time, and what it sends be lost; or the ring is full of
            // what nobody counts.
            self.completed_ns.saturating_add(threshold_ns)
        } else {
            return cadence_ns;
        };
        Some(cadence_ns.map_or(stall_ns, |cadence_ns| cadence_ns.min(stall_ns)))
    }

    /// Ends a reset that the sender began: what was in flight then is forgotten.
    #[inline]
    pub(super) fn finish_reset<M: Sharing, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) {
        let begun = self.ledger.reset_begun(&shared.ledger);
        if begun != self.reset {
            self.start_epoch(begun, shared, now_ns, probe);
        }
    }

    #[cold]
    fn start_epoch<M: Sharing, P: Probe>(
        &mut self,
        begun: u32,
        shared: &Shared<M>,
        now_ns: u64,
        probe: &mut P,
    ) {
        let forgotten_bytes = self.budget::<M>().map(Member::bytes_to_forget);
        let Some(boundary) = self.ledger.reset_boundary(&shared.ledger, begun) else {
            // The sender begins one more just now, and wakes this half when it has.
            return;
        };
        self.reset = begun;
        self.mark = self.mark.after_resets(begun);
        self.reaped.is_odd = true;
        self.reaped.begin_epoch(self.mark);
        self.rule.reset(now_ns);
        self.forget_past(shared, now_ns);
        count_up(&shared.published.completer.resets, 1);
        self.ledger
            .finish_reset(&shared.ledger, boundary, self.limit());
        if let (Some(budget), Some(bytes)) = (self.budget::<M>(), forgotten_bytes) {
            budget.finish_reset(bytes, now_ns);
        }
        self.open_again(shared);
        shared.published.set_config(&self.rule.config());
        probe.event(now_ns, Event::Reset);
        if probe.listens() {
            probe.event(now_ns, Event::Limit(self.shown_limit()));
        }
    }

    /// What was learnt about the ring before a reset or a repair is void.
    fn forget_past<M: Sharing>(&mut self, shared: &Shared<M>, now_ns: u64) {
        self.chain_is_open = false;
        if let Some(cadence) = &mut self.cadence {
            cadence.reset();
        }
        if let Some(rate) = &mut self.rate {
            rate.reset();
        }
        if let Some(pieces) = &mut self.pieces {
            pieces.reset();
        }
        self.stall.reset();
        self.stall_due_ns = 0;
        self.right_since_ns = now_ns;
        self.forget_old(shared);
    }

    /// Lifts every stop, and wakes whoever waits for room.
    fn open_again<M: Sharing>(&mut self, shared: &Shared<M>) {
        shared.stack.open();
        shared.driver.open();
        self.schedule_owed = true;
        shared.room.notify(|| true);
    }

    /// Puts the ledger right while the sender does nothing. The limit stays.
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
        // Or its end would undo what is put right here.
        self.finish_reset(shared, now_ns, probe);
        let repair = Repair {
            was_in_flight: self.ledger.sender_side(&shared.ledger).in_flight,
            in_flight,
        };
        let config = self.rule.config();
        self.rule.reset(now_ns);
        // These settings were in force until now.
        let _ = self.rule.set_config(config);
        self.forget_past(shared, now_ns);
        self.ledger
            .set_in_flight(&shared.ledger, in_flight, self.limit());
        if let Some(budget) = self.budget::<M>() {
            budget.correct(in_ring.bytes, now_ns);
        }
        count_up(&shared.published.completer.repairs, 1);
        self.open_again(shared);
        probe.event(now_ns, Event::Repaired(repair));
        Ok(repair)
    }

    pub(super) fn snapshot<M: Sharing>(&self, shared: &Shared<M>) -> Snapshot {
        let config = self.rule.config();
        let side = self.ledger.sender_side(&shared.ledger);
        Snapshot {
            limit: self.shown_limit(),
            min_limit: config.min_limit,
            max_limit: config.max_limit,
            hold_time_ns: config.hold_time_ns,
            in_flight: side.in_flight,
            num_queued: side.num_queued,
            num_completed: self.ledger.num_completed(),
            completions_are_false: !self.trusted,
        }
    }

    /// Whether completions mean that packets left the device.
    pub(super) fn is_trusted(&self) -> bool {
        self.trusted
    }

    pub(super) fn rule(&self) -> &L {
        &self.rule
    }

    pub(super) fn config(&self) -> Config {
        self.rule.config()
    }

    /// Applies what others asked for.
    fn hear<M: Sharing>(&mut self, shared: &Shared<M>) {
        let mut heard = core::mem::take(&mut self.heard);
        shared.published.take_asked(&mut heard, |setting| {
            // It was checked when it was asked for; what contradicts it since has won.
            let _ = self.set(setting);
            shared.published.set_config(&self.rule.config());
        });
        self.heard = heard;
    }

    pub(super) fn set(&mut self, setting: Setting) -> Result<(), KnobError> {
        if let Setting::StallThresholdMs(ms) = setting {
            self.stall.set_threshold_ns(u64::from(ms) * NS_PER_MS);
            (self.stall_due_ns, self.stalled_until_ns) = (0, 0);
            return Ok(());
        }
        let mut config = self.rule.config();
        setting.change(&mut config);
        self.rule
            .set_config(config)
            .map_err(|error| KnobError::Refused(setting.knob(), error))
    }

    pub(super) fn read<M: Sharing>(&self, knob: Knob, shared: &Shared<M>) -> u64 {
        let limit = self.snapshot(shared);
        match knob {
            Knob::Limit => limit.limit.into(),
            Knob::LimitMin => limit.min_limit.into(),
            Knob::LimitMax => limit.max_limit.into(),
            Knob::HoldTime => limit.hold_time_ns / NS_PER_MS,
            Knob::Inflight => limit.in_flight.into(),
            Knob::StallThrs => self.stall.threshold_ns() / NS_PER_MS,
            Knob::StallCnt => self.stall_count(),
            Knob::StallMax => self.stall.longest_ns().max(self.old_stall.longest_ns) / NS_PER_MS,
        }
    }

    pub(super) fn set_cadence_ns(&mut self, cadence_ns: u64) {
        match &mut self.cadence {
            Some(cadence) => cadence.set_period_ns(cadence_ns),
            None if cadence_ns > 0 => self.cadence = Some(Cadence::new(cadence_ns)),
            None => {}
        }
    }
}
