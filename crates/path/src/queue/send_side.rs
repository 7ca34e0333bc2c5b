//! What a sender does, whoever shares the queue with it.

use alloc::boxed::Box;

use super::counters::{SenderCells, add};
use super::error::NoRoom;
use super::shared::Shared;
use super::{Stop, StopReason};
use crate::budget::Member;
use crate::driver::TxRing;
use crate::ledger::SenderLedger;
use crate::limit::Unit;
use crate::packet::{DropReason, Packet, PacketSink, SentMark};
use crate::probe::{Event, Probe};
use crate::qdisc::{Burst, Qdisc};
use crate::sharing::{Sharing, Word};
use crate::split::{Cutter, Plan, Uncut};

/// The sender's own part of a queue.
pub(crate) struct SendSide<Q: Qdisc> {
    pub(super) discipline: Q,
    pub(super) ledger: SenderLedger,
    pub(super) unit: UnitOf,
    /// What packets that are sent now are marked with.
    pub(super) mark: SentMark,
    pub(super) burst_packets: u32,
    /// The device has not been told of everything in the ring: a doorbell failed.
    pub(super) kick_owed: bool,
    /// How long a slice of time is by which old packets are told from new ones, and when the next
    /// may begin, in ns.
    slice_ns: u64,
    slice_due_ns: u64,
    pub(super) budget: Option<Member>,
    /// What cuts super-packets, if they go in pieces.
    pub(super) cutter: Option<Cutter>,
    /// A super-packet that left the discipline and is to be sent next, in pieces. Only within a run.
    pub(super) stash: Option<(Packet, Plan)>,
    /// Pieces since the last doorbell.
    pub(super) supers: u32,
    /// Where what waits goes when the queue is dropped.
    drop_sink: Option<Box<dyn PacketSink + Send>>,
}

/// What one call needs besides the queue.
pub(super) struct Context<'a, S: ?Sized, P> {
    pub now_ns: u64,
    pub sink: &'a mut S,
    pub probe: &'a mut P,
}

impl<S: ?Sized, P> Context<'_, S, P> {
    /// The same for a call: what is rare is given its own, and this one need not be in memory for it.
    #[inline(always)]
    fn again(&mut self) -> Context<'_, S, P> {
        Context {
            now_ns: self.now_ns,
            sink: self.sink,
            probe: self.probe,
        }
    }
}

/// What a packet counts for, without a branch.
#[derive(Clone, Copy)]
pub(super) struct UnitOf {
    kept_bits: u32,
    set_bits: u32,
}

impl UnitOf {
    const fn new(unit: Unit) -> Self {
        let (kept_bits, set_bits) = match unit {
            Unit::Bytes => (u32::MAX, 0),
            Unit::Packets => (0, 1),
        };
        Self {
            kept_bits,
            set_bits,
        }
    }

    #[inline]
    pub(super) const fn of(self, bytes: u32) -> u32 {
        bytes & self.kept_bits | self.set_bits
    }

    /// What so many packets of so many bytes together count for.
    pub(super) const fn of_many(self, packets: u32, bytes: u32) -> u32 {
        if self.set_bits == 0 { bytes } else { packets }
    }
}

/// Why a burst ended.
#[derive(Clone, Copy)]
enum BurstEnd {
    Full,
    NoRoom,
    NoSlots,
    Empty,
    /// A super-packet that is cut is next: it is stashed.
    Super,
}

impl<Q: Qdisc> SendSide<Q> {
    pub(super) fn new(
        discipline: Q,
        unit: Unit,
        mark: SentMark,
        burst_packets: u32,
        slice_ns: u64,
        cutter: Option<Cutter>,
        drop_sink: Option<Box<dyn PacketSink + Send>>,
    ) -> Self {
        Self {
            discipline,
            ledger: SenderLedger::default(),
            unit: UnitOf::new(unit),
            mark,
            burst_packets,
            kick_owed: false,
            slice_ns,
            // Counted from the first run.
            slice_due_ns: if slice_ns == 0 { u64::MAX } else { 0 },
            budget: None,
            cutter,
            stash: None,
            supers: 0,
            drop_sink,
        }
    }

    #[inline(always)]
    pub(super) fn enqueue<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        packet: Packet,
        at: Context<'_, S, P>,
    ) {
        at.probe.event(at.now_ns, Event::Enqueued(&packet));
        let counters = &shared.published.sender;
        add(&counters.enqueued_packets, 1);
        let now_ns = at.now_ns;
        let cutter = &mut self.cutter;
        let mut sink = CountedSink {
            at,
            counters,
            cutter,
        };
        self.discipline.enqueue(packet, now_ns, &mut sink);
    }

    #[inline]
    pub(super) fn offer<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        packet: Packet,
        at: Context<'_, S, P>,
    ) -> Result<(), NoRoom> {
        if !self.discipline.accepts(&packet) {
            return Err(NoRoom(packet));
        }
        self.enqueue(shared, packet, at);
        Ok(())
    }

    #[inline]
    pub(super) fn run<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        mut at: Context<'_, S, P>,
    ) -> Stop<R::Error> {
        if M::SHARED {
            self.begin_reset(shared);
        }
        if at.now_ns >= self.slice_due_ns {
            self.begin_slice(shared, at.now_ns);
        }
        let stop = self.run_until_stopped(shared, ring, &mut at);
        if let Some(budget) = self.budget::<M>() {
            budget.share_room();
        }
        stop
    }

    /// The budget, which only a queue can have that others may start.
    #[inline]
    pub(super) fn budget<M: Sharing>(&self) -> Option<&Member> {
        if M::SHARED {
            self.budget.as_ref()
        } else {
            None
        }
    }

    /// Packets that are sent from now on are told from those of before, if none is left of the time
    /// before those.
    #[cold]
    fn begin_slice<M: Sharing>(&mut self, shared: &Shared<M>, now_ns: u64) {
        self.slice_due_ns = now_ns.saturating_add(self.slice_ns);
        if self.ledger.begin_slice(&shared.ledger, now_ns) {
            self.mark = self.mark.other_slice();
        }
    }

    /// Begins a reset that was asked for: what was sent until now does not count any more.
    #[inline]
    pub(super) fn begin_reset<M: Sharing>(&mut self, shared: &Shared<M>) {
        let asked = shared.reset_asked();
        if asked != self.ledger.reset_begun(&shared.ledger) {
            self.mark = self.mark.after_resets(asked);
            let budget = self.budget.as_ref();
            self.ledger.begin_reset(&shared.ledger, asked, || {
                budget.inspect(|budget| budget.begin_reset());
            });
            shared.completer_waker.wake_by_ref();
        }
    }

    // A function of its own: its registers are worth more than the call.
    #[inline(never)]
    fn run_until_stopped<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> Stop<R::Error> {
        // First of all, also of a stop: what the device does not know of never completes.
        if let Err(error) = self.kick(shared, ring, at.now_ns) {
            return Stop::Failed(error);
        }
        loop {
            if shared.stack.is_closed() {
                self.note_refused(shared, at);
                return Stop::Limit;
            }
            if shared.driver.is_closed() {
                return Stop::RingFull;
            }
            let end = self.send_burst(shared, ring, at);
            if matches!(end, BurstEnd::Super) && self.send_super(shared, ring, at) {
                continue;
            }
            if let Err(error) = self.kick(shared, ring, at.now_ns) {
                return Stop::Failed(error);
            }
            match end {
                BurstEnd::Full | BurstEnd::Super => {}
                BurstEnd::NoRoom => self.stop_stack(shared, at),
                BurstEnd::NoSlots => self.stop_driver(shared, ring, at),
                BurstEnd::Empty => {
                    return match self.discipline.next_ready(at.now_ns) {
                        Some(at_ns) => Stop::NotReady(at_ns),
                        None => Stop::Idle,
                    };
                }
            }
        }
    }

    /// Puts a burst into the ring.
    #[inline(always)]
    fn send_burst<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> BurstEnd {
        let mut sending = Sending {
            shared,
            ledger: &mut self.ledger,
            kick_owed: &mut self.kick_owed,
            budget: if M::SHARED {
                self.budget.as_ref()
            } else {
                None
            },
            cutter: &mut self.cutter,
            stash: &mut self.stash,
            unit: self.unit,
            mark: self.mark,
            burst_packets: self.burst_packets,
            left_packets: self.burst_packets,
            sent_bytes: 0,
            refused_packets: 0,
            end: BurstEnd::Empty,
            slots_of_largest: ring.slots_of_largest(),
            ring,
            at,
        };
        // A discipline cannot take back what it gave, so the room comes first.
        if sending.goes_on() {
            let now_ns = sending.at.now_ns;
            self.discipline.dequeue_burst(now_ns, &mut sending);
        }
        sending.end
    }

    /// Rings the doorbell for what the device was not told of yet.
    #[inline]
    fn kick<M: Sharing, R: TxRing>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        now_ns: u64,
    ) -> Result<(), R::Error> {
        if self.kick_owed {
            ring.kick(now_ns)?;
            self.kick_owed = false;
            add(&shared.published.sender.kicks, 1);
        }
        Ok(())
    }

    fn stop_stack<M: Sharing, S: ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: &mut Context<'_, S, P>,
    ) {
        let (ledger, budget) = (&self.ledger, self.budget.as_ref());
        let has_room = || has_room(ledger, shared, budget);
        if shared.stack.close_unless(has_room) {
            add(&shared.published.sender.limit_stops, 1);
            at.probe.event(at.now_ns, Event::Stopped(StopReason::Limit));
        }
    }

    fn stop_driver<M: Sharing, R: TxRing, S: ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &R,
        at: &mut Context<'_, S, P>,
    ) {
        let has_slots = || ring.slots_free() >= ring.slots_of_largest();
        if shared.driver.close_unless(has_slots) {
            add(&shared.published.sender.ring_stops, 1);
            let event = Event::Stopped(StopReason::RingFull);
            at.probe.event(at.now_ns, event);
        }
    }

    fn note_refused<M: Sharing, S: ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: &mut Context<'_, S, P>,
    ) {
        let waits = self.discipline.backlog().packets > 0
            && self.discipline.next_ready(at.now_ns).is_none();
        if !waits {
            return;
        }
        // The completer may have made room since it was found missing.
        if has_room(&self.ledger, shared, self.budget.as_ref()) {
            return;
        }
        match &self.budget {
            // Held back by the budget alone, it was not refused by its own limit.
            Some(budget) if self.ledger.has_room(&shared.ledger) => budget.note_refused(),
            _ => {
                self.ledger.refused(&shared.ledger);
                at.probe.event(at.now_ns, Event::Refused);
            }
        }
    }

    pub(super) fn flush<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: Context<'_, S, P>,
    ) {
        let counters = &shared.published.sender;
        let cutter = &mut self.cutter;
        let mut sink = CountedSink {
            at,
            counters,
            cutter,
        };
        self.discipline
            .drain(&mut |packet| sink.dropped(packet, DropReason::Flushed));
    }
}

impl<Q: Qdisc> Drop for SendSide<Q> {
    fn drop(&mut self) {
        let Self {
            discipline,
            drop_sink: Some(sink),
            cutter,
            ..
        } = self
        else {
            return;
        };
        discipline.drain(&mut |packet| {
            if packet.is_rest() {
                sink.segments_dropped(&packet, DropReason::Flushed);
            }
            if let Some((whole, reason)) = gone(packet, DropReason::Flushed, cutter) {
                sink.dropped(whole, reason);
            }
        });
    }
}

/// Whether the limit and the budget let one more packet go. With a budget that has none, the queue
/// is among those that wait for it from now on.
#[inline]
fn has_room<M: Sharing>(
    ledger: &SenderLedger,
    shared: &Shared<M>,
    budget: Option<&Member>,
) -> bool {
    let has_room = ledger.has_room(&shared.ledger);
    match budget {
        Some(budget) if M::SHARED => budget.acquire(has_room),
        _ => has_room,
    }
}

/// How long a piece may be, in bytes.
pub(super) fn most_bytes<M: Sharing>(
    cutter: &Cutter,
    ledger: &SenderLedger,
    shared: &Shared<M>,
) -> u32 {
    match cutter.pieces_in_limit {
        Some(pieces) => ledger.limit(&shared.ledger) / pieces,
        None => shared.piece_bytes.load(),
    }
}

/// A burst on its way from the discipline into the ring.
struct Sending<'a, 'b, M: Sharing, R, S: ?Sized, P> {
    shared: &'a Shared<M>,
    ledger: &'a mut SenderLedger,
    kick_owed: &'a mut bool,
    budget: Option<&'a Member>,
    cutter: &'a mut Option<Cutter>,
    stash: &'a mut Option<(Packet, Plan)>,
    unit: UnitOf,
    mark: SentMark,
    burst_packets: u32,
    left_packets: u32,
    sent_bytes: u64,
    refused_packets: u32,
    end: BurstEnd,
    slots_of_largest: u32,
    ring: &'a mut R,
    at: &'a mut Context<'b, S, P>,
}

impl<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe> Sending<'_, '_, M, R, S, P> {
    /// Whether one more packet may come; if not, notes why.
    #[inline]
    fn goes_on(&mut self) -> bool {
        self.end = if !has_room(self.ledger, self.shared, self.budget) {
            BurstEnd::NoRoom
        } else if self.ring.slots_free() < self.slots_of_largest {
            BurstEnd::NoSlots
        } else if self.left_packets == 0 {
            BurstEnd::Full
        } else {
            return true;
        };
        false
    }

    /// How a super-packet is cut, unless it goes whole.
    #[cold]
    #[inline(never)]
    fn plan(&self, packet: Uncut) -> Option<Plan> {
        let cutter = self.cutter.as_ref()?;
        cutter.plan(packet, most_bytes(cutter, self.ledger, self.shared))
    }

    /// Accounts for a packet, before the device can see it.
    #[inline]
    fn count(&mut self, units: u32, bytes: u32) -> bool {
        let (ledger, now_ns) = (&self.shared.ledger, self.at.now_ns);
        let Some(budget) = self.budget.filter(|_| M::SHARED) else {
            return self.ledger.queued(ledger, units, now_ns).is_ok();
        };
        let counted = budget.can_count(bytes) && self.ledger.queued(ledger, units, now_ns).is_ok();
        if counted {
            budget.charge(bytes, now_ns);
        }
        counted
    }

    /// The device does not take the packet: as if it had never been sent.
    #[inline]
    fn refuse(&mut self, packet: Packet, units: u32) {
        self.ledger.unqueue(&self.shared.ledger, units);
        if let Some(budget) = self.budget {
            budget.uncharge(packet.wire_bytes());
        }
        self.refused_packets += 1;
        self.sent_bytes -= u64::from(packet.wire_bytes());
        self.dropped(packet, DropReason::DeviceRefused);
    }
}

impl<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe> Burst
    for Sending<'_, '_, M, R, S, P>
{
    #[inline(always)]
    fn push(&mut self, mut packet: Packet) -> bool {
        let now_ns = self.at.now_ns;
        self.at.probe.event(now_ns, Event::Dequeued(&packet));
        // Out of the way of all others: what is done for it needs more than a burst has at hand.
        if let Some(cut) = packet.segmentation {
            let uncut = Uncut::of(&packet, cut);
            if let Some(plan) = self.plan(uncut) {
                *self.stash = Some((packet, plan));
                self.end = BurstEnd::Super;
                return false;
            }
        }
        let bytes = packet.wire_bytes();
        let units = self.unit.of(bytes);
        if !self.count(units, bytes) {
            self.dropped(packet, DropReason::Uncountable);
            return self.goes_on();
        }
        packet.sent = self.mark;
        self.sent_bytes += u64::from(bytes);
        self.at.probe.event(now_ns, Event::Sent(&packet));
        // Before the sink may panic.
        self.left_packets -= 1;
        if let Err(packet) = self.ring.submit(packet, now_ns) {
            self.refuse(packet, units);
        }
        self.goes_on()
    }
}

impl<M: Sharing, R, S: PacketSink + ?Sized, P: Probe> PacketSink for Sending<'_, '_, M, R, S, P> {
    fn freed(&mut self, packet: Packet) {
        self.at.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let counters = &self.shared.published.sender;
        dropped(packet, reason, counters, self.cutter, &mut self.at.again());
    }

    fn marked(&mut self, packet: &Packet) {
        marked(packet, &self.shared.published.sender, &mut self.at.again());
    }
}

/// Counts drops and marks on their way to the caller's sink.
struct CountedSink<'a, 'b, M: Sharing, S: ?Sized, P> {
    at: Context<'b, S, P>,
    counters: &'a SenderCells<M>,
    cutter: &'a mut Option<Cutter>,
}

impl<M: Sharing, S: PacketSink + ?Sized, P: Probe> PacketSink for CountedSink<'_, '_, M, S, P> {
    fn freed(&mut self, packet: Packet) {
        self.at.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let at = &mut self.at.again();
        dropped(packet, reason, self.counters, self.cutter, at);
    }

    fn marked(&mut self, packet: &Packet) {
        marked(packet, self.counters, &mut self.at.again());
    }
}

/// Also when a sink panics in the middle of a burst.
impl<M: Sharing, R, S: ?Sized, P> Drop for Sending<'_, '_, M, R, S, P> {
    #[inline]
    fn drop(&mut self) {
        let submitted = self.burst_packets - self.left_packets;
        let counters = &self.shared.published.sender;
        let sent = u64::from(submitted - self.refused_packets);
        add(&counters.sent_packets, sent);
        add(&counters.sent_bytes, self.sent_bytes);
        *self.kick_owed |= sent > 0;
    }
}

#[inline(never)]
pub(super) fn dropped<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
    packet: Packet,
    reason: DropReason,
    counters: &SenderCells<M>,
    cutter: &mut Option<Cutter>,
    at: &mut Context<'_, S, P>,
) {
    counters.dropped(reason);
    at.probe.event(at.now_ns, Event::Dropped(&packet, reason));
    if packet.is_rest() {
        add(&counters.dropped_segments, packet.segments().into());
        at.sink.segments_dropped(&packet, reason);
    }
    if let Some((packet, reason)) = gone(packet, reason, cutter) {
        at.sink.dropped(packet, reason);
    }
}

/// What ends with a packet that is dropped: itself, or the packet that it is the rest of, unless a piece
/// of that is in the device.
fn gone(
    packet: Packet,
    reason: DropReason,
    cutter: &mut Option<Cutter>,
) -> Option<(Packet, DropReason)> {
    if !packet.is_rest() {
        return Some((packet, reason));
    }
    let ended = cutter.as_mut()?.dropped(packet, reason)?;
    Some((ended.whole, reason))
}

#[inline(never)]
fn marked<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
    packet: &Packet,
    counters: &SenderCells<M>,
    at: &mut Context<'_, S, P>,
) {
    add(&counters.marked_packets, 1);
    at.probe.event(at.now_ns, Event::Marked(packet));
    at.sink.marked(packet);
}
