//! The sending half, whichever way it shares the queue with the completing half.

use super::ages::AgeMarker;
use super::context::Context;
use super::counters::{SenderCells, add, count_drop};
use super::error::NoRoom;
use super::outcome::{Stop, StopReason};
use super::send_super::SuperPackets;
use super::shared::Shared;
use crate::budget::Member;
use crate::driver::TxRing;
use crate::limit::Unit;
use crate::packet::{DropReason, Mark, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::qdisc::{Burst, Qdisc};
use crate::sharing::Sharing;
use crate::split::{Cutter, Uncut};

/// The sender's own part of a queue.
pub(super) struct SendHalf<Q> {
    pub qdisc: Q,
    /// The mark of packets, and when it changes.
    pub ages: AgeMarker,
    /// The last reset that ended.
    epoch: u32,
    pub unit: UnitMask,
    pub burst_packets: u32,
    /// A doorbell failed, so the device has not seen all packets in the ring.
    pub kick_pending: bool,
    pub budget: Option<Member>,
    pub supers: SuperPackets,
}

/// Converts a packet to units of the limit, without a branch.
#[derive(Clone, Copy)]
pub(super) struct UnitMask {
    kept_bits: u32,
    set_bits: u32,
}

impl UnitMask {
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

    /// Units of a packet of `bytes`.
    #[inline]
    pub const fn of(self, bytes: u32) -> u32 {
        bytes & self.kept_bits | self.set_bits
    }

    /// Units of `packets` that have `bytes` together.
    pub const fn of_many(self, packets: u32, bytes: u32) -> u32 {
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
    /// The next packet is a super-packet that does not go whole: it is stashed.
    Super,
}

impl<Q: Qdisc> SendHalf<Q> {
    pub fn new(
        qdisc: Q,
        unit: Unit,
        mark: Mark,
        burst_packets: u32,
        cutter: Option<Cutter>,
    ) -> Self {
        Self {
            qdisc,
            ages: AgeMarker::new(mark),
            epoch: 0,
            unit: UnitMask::new(unit),
            burst_packets,
            kick_pending: false,
            budget: None,
            supers: SuperPackets::new(cutter),
        }
    }

    #[inline(always)]
    pub fn enqueue<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        packet: Packet,
        at: Context<'_, S, P>,
    ) {
        at.probe.event(at.now_ns, Event::Enqueued(&packet));
        add(&shared.sender.enqueued_packets, 1);
        let now_ns = at.now_ns;
        let mut sink = CountingSink {
            at,
            cells: &shared.sender,
            cutter: &mut self.supers.cutter,
        };
        self.qdisc.enqueue(packet, now_ns, &mut sink);
    }

    #[inline]
    pub fn offer<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        packet: Packet,
        at: Context<'_, S, P>,
    ) -> Result<(), NoRoom> {
        if !self.qdisc.accepts(&packet) {
            return Err(NoRoom(packet));
        }
        self.enqueue(shared, packet, at);
        Ok(())
    }

    #[inline]
    pub fn run<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        mut at: Context<'_, S, P>,
    ) -> Stop<R::Error> {
        // On one thread a reset is over when the sender runs next.
        if M::SHARED && shared.reset.concerns(self.epoch) && !self.take_part_in_reset(shared) {
            return Stop::Limit;
        }
        self.ages.run(&shared.ages, &shared.ledger, at.now_ns);
        let stop = self.run_until_stopped(shared, ring, &mut at);
        if let Some(budget) = self.budget::<M>() {
            budget.share_room();
        }
        stop
    }

    /// Begins a reset that was requested. Returns `true` if it has ended, so that packets may be
    /// sent.
    #[cold]
    pub fn take_part_in_reset<M: Sharing>(&mut self, shared: &Shared<M>) -> bool {
        if shared.reset.begin() {
            shared.completer_waker.wake_by_ref();
        }
        // No packet of the new epoch may be sent before the completer ends the reset, which opens
        // the gate.
        let has_ended = || shared.reset.epoch().is_some();
        if !has_ended() && shared.stack.close_unless(has_ended) {
            if let Some(budget) = self.budget::<M>() {
                // It does not wait for the budget: a start by another queue would be in vain.
                budget.acquire(false);
                budget.share_room();
            }
            return false;
        }
        if let Some(epoch) = shared.reset.epoch() {
            self.epoch = epoch;
            self.ages.mark = self.ages.mark.in_epoch(epoch);
        }
        true
    }

    /// The budget, which only a queue can have that other threads may start.
    #[inline]
    pub fn budget<M: Sharing>(&self) -> Option<&Member> {
        if M::SHARED {
            self.budget.as_ref()
        } else {
            None
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
        // Ring a failed doorbell again first, even if the queue is stopped: packets that the device
        // has not seen never complete.
        if let Err(error) = self.kick(shared, ring, at.now_ns) {
            return Stop::Failed(error);
        }
        loop {
            if shared.stack.is_closed() {
                self.note_blocked(shared, at);
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
                BurstEnd::NoSlots => stop_driver(shared, ring, at),
                BurstEnd::Empty => {
                    let ready_ns = self.qdisc.next_ready(at.now_ns);
                    return ready_ns.map_or(Stop::Idle, Stop::NotReady);
                }
            }
        }
    }

    /// Submits a burst.
    #[inline(always)]
    fn send_burst<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> BurstEnd {
        let mut sending = Sending {
            shared,
            kick_pending: &mut self.kick_pending,
            budget: if M::SHARED {
                self.budget.as_ref()
            } else {
                None
            },
            supers: &mut self.supers,
            unit: self.unit,
            mark: self.ages.mark,
            burst_packets: self.burst_packets,
            left_packets: self.burst_packets,
            sent_bytes: 0,
            rejected_packets: 0,
            end: BurstEnd::Empty,
            slots_of_largest: ring.slots_of_largest(),
            ring,
            at,
        };
        // A discipline cannot take back what it gave, so the room comes first.
        if sending.continues() {
            let now_ns = sending.at.now_ns;
            self.qdisc.dequeue_burst(now_ns, &mut sending);
        }
        sending.end
    }

    /// Rings the doorbell for packets that the device has not seen yet.
    #[inline]
    fn kick<M: Sharing, R: TxRing>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        now_ns: u64,
    ) -> Result<(), R::Error> {
        if self.kick_pending {
            ring.kick(now_ns)?;
            self.kick_pending = false;
            add(&shared.sender.kicks, 1);
        }
        Ok(())
    }

    fn stop_stack<M: Sharing, S: ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: &mut Context<'_, S, P>,
    ) {
        let budget = self.budget.as_ref();
        if shared.stack.close_unless(|| has_room(shared, budget)) {
            add(&shared.sender.limit_stops, 1);
            at.probe.event(at.now_ns, Event::Stopped(StopReason::Limit));
        }
    }

    fn note_blocked<M: Sharing, S: ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: &mut Context<'_, S, P>,
    ) {
        let waits = self.qdisc.backlog().packets > 0 && self.qdisc.next_ready(at.now_ns).is_none();
        // The completer might have made room since it was found missing.
        if !waits || has_room(shared, self.budget.as_ref()) {
            return;
        }
        match self.budget::<M>() {
            // Stopped by the budget alone, it is not blocked by its own limit.
            Some(budget) if shared.ledger.has_room() => budget.note_blocked(),
            _ => {
                shared.ledger.note_blocked();
                at.probe.event(at.now_ns, Event::Blocked);
            }
        }
    }

    pub fn flush<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: Context<'_, S, P>,
    ) {
        let mut sink = CountingSink {
            at,
            cells: &shared.sender,
            cutter: &mut self.supers.cutter,
        };
        self.qdisc
            .drain(&mut |packet| sink.dropped(packet, DropReason::Flushed));
    }
}

fn stop_driver<M: Sharing, R: TxRing, S: ?Sized, P: Probe>(
    shared: &Shared<M>,
    ring: &R,
    at: &mut Context<'_, S, P>,
) {
    let has_slots = || ring.slots_free() >= ring.slots_of_largest();
    if shared.driver.close_unless(has_slots) {
        add(&shared.sender.ring_stops, 1);
        let event = Event::Stopped(StopReason::RingFull);
        at.probe.event(at.now_ns, event);
    }
}

/// Returns `true` if the limit and the budget let one more packet go. Without room in its budget,
/// the queue waits for it from now on.
#[inline]
fn has_room<M: Sharing>(shared: &Shared<M>, budget: Option<&Member>) -> bool {
    let has_room = shared.ledger.has_room();
    match budget {
        Some(budget) if M::SHARED => budget.acquire(has_room),
        _ => has_room,
    }
}

/// A burst on its way from the discipline into the ring.
struct Sending<'a, 'b, M: Sharing, R, S: ?Sized, P> {
    shared: &'a Shared<M>,
    kick_pending: &'a mut bool,
    budget: Option<&'a Member>,
    supers: &'a mut SuperPackets,
    unit: UnitMask,
    mark: Mark,
    burst_packets: u32,
    left_packets: u32,
    sent_bytes: u64,
    rejected_packets: u32,
    end: BurstEnd,
    slots_of_largest: u32,
    ring: &'a mut R,
    at: &'a mut Context<'b, S, P>,
}

impl<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe> Sending<'_, '_, M, R, S, P> {
    /// Returns `true` if one more packet may come; if not, notes why.
    #[inline]
    fn continues(&mut self) -> bool {
        self.end = if !has_room(self.shared, self.budget) {
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

    /// Counts a packet, before the device can see it.
    #[inline]
    fn count(&mut self, units: u32, bytes: u32) -> bool {
        let (ledger, now_ns) = (&self.shared.ledger, self.at.now_ns);
        let budget = self.budget.filter(|_| M::SHARED);
        if budget.is_some_and(|budget| !budget.can_count(bytes)) {
            return false;
        }
        ledger.answer(now_ns);
        let counted = ledger.queued(units).is_ok();
        if counted && let Some(budget) = budget {
            budget.charge(bytes, now_ns);
        }
        counted
    }

    /// The device rejected the packet: as if it had never been sent.
    #[cold]
    fn reject(&mut self, packet: Packet, units: u32) {
        self.shared.ledger.unqueue(units);
        if let Some(budget) = self.budget {
            budget.uncharge(packet.wire_bytes());
        }
        self.rejected_packets += 1;
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
        // A cold path: super-packets need more than the burst loop has at hand.
        if let Some(segmentation) = packet.segmentation {
            let uncut = Uncut::of(&packet, segmentation);
            if let Some(plan) = self.supers.plan(self.shared, uncut) {
                self.supers.stash = Some((packet, plan));
                self.end = BurstEnd::Super;
                return false;
            }
        }
        let bytes = packet.wire_bytes();
        let units = self.unit.of(bytes);
        if !self.count(units, bytes) {
            self.dropped(packet, DropReason::Uncountable);
            return self.continues();
        }
        packet.mark = self.mark;
        self.sent_bytes += u64::from(bytes);
        self.at.probe.event(now_ns, Event::Sent(&packet));
        // Before the sink can panic.
        self.left_packets -= 1;
        if let Err(packet) = self.ring.submit(packet, now_ns) {
            self.reject(packet, units);
        }
        self.continues()
    }
}

impl<M: Sharing, R, S: PacketSink + ?Sized, P: Probe> PacketSink for Sending<'_, '_, M, R, S, P> {
    fn freed(&mut self, packet: Packet) {
        self.at.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let cutter = &mut self.supers.cutter;
        dropped(
            packet,
            reason,
            &self.shared.sender,
            cutter,
            &mut self.at.again(),
        );
    }

    fn marked(&mut self, packet: &Packet) {
        marked(packet, &self.shared.sender, &mut self.at.again());
    }
}

/// Also when a sink panics in the middle of a burst.
impl<M: Sharing, R, S: ?Sized, P> Drop for Sending<'_, '_, M, R, S, P> {
    #[inline]
    fn drop(&mut self) {
        let submitted = self.burst_packets - self.left_packets;
        let sent = u64::from(submitted - self.rejected_packets);
        add(&self.shared.sender.sent_packets, sent);
        add(&self.shared.sender.sent_bytes, self.sent_bytes);
        *self.kick_pending |= sent > 0;
    }
}

/// Counts drops and marks on their way to the caller's sink.
struct CountingSink<'a, 'b, M: Sharing, S: ?Sized, P> {
    at: Context<'b, S, P>,
    cells: &'a SenderCells<M>,
    cutter: &'a mut Option<Cutter>,
}

impl<M: Sharing, S: PacketSink + ?Sized, P: Probe> PacketSink for CountingSink<'_, '_, M, S, P> {
    fn freed(&mut self, packet: Packet) {
        self.at.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        dropped(
            packet,
            reason,
            self.cells,
            self.cutter,
            &mut self.at.again(),
        );
    }

    fn marked(&mut self, packet: &Packet) {
        marked(packet, self.cells, &mut self.at.again());
    }
}

#[inline(never)]
pub(super) fn dropped<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
    packet: Packet,
    reason: DropReason,
    cells: &SenderCells<M>,
    cutter: &mut Option<Cutter>,
    at: &mut Context<'_, S, P>,
) {
    count_drop(cells, reason);
    at.probe.event(at.now_ns, Event::Dropped(&packet, reason));
    if !packet.is_rest() {
        return at.sink.dropped(packet, reason);
    }
    add(&cells.dropped_segments, packet.segments().into());
    at.sink.segments_dropped(&packet, reason);
    // With the remainder the whole packet ends, unless a piece of it is in the device.
    let ended = cutter
        .as_mut()
        .and_then(|cutter| cutter.dropped(packet, reason));
    if let Some(ended) = ended {
        at.sink.dropped(ended.whole, reason);
    }
}

#[inline(never)]
fn marked<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
    packet: &Packet,
    cells: &SenderCells<M>,
    at: &mut Context<'_, S, P>,
) {
    add(&cells.marked_packets, 1);
    at.probe.event(at.now_ns, Event::Marked(packet));
    at.sink.marked(packet);
}
