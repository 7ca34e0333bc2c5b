//! Sending super-packets in pieces.

use super::admission::Admission;
use super::context::Context;
use super::counters::{add, count_drop};
use super::send::SendHalf;
use super::shared::Shared;
use super::sink::dropped;
use crate::driver::TxRing;
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::qdisc::{Qdisc, RequeueSupport};
use crate::sharing::Sharing;
use crate::split::{Ended, Plan, Uncut};
use taut_dql::MAX_OBJECT;

impl<Q: Qdisc, A: Admission> SendHalf<Q, A> {
    /// Sends as much of the super-packet that was stashed as may go at once; the discipline has the rest
    /// back. Returns whether more may follow behind the same doorbell.
    #[cold]
    #[inline(never)]
    pub(super) fn send_super<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> bool {
        let mut next = self.supers.stash.take();
        while let Some((packet, plan)) = next.take() {
            let Some(rest) = self.send_pieces(shared, ring, packet, plan, at) else {
                break;
            };
            if !self.goes_on(shared, ring) {
                self.requeue(shared, rest, at);
                break;
            }
            match self.plan_of_rest(shared, &rest) {
                Some(plan) => next = Some((rest, plan)),
                None => self.requeue(shared, rest, at),
            }
        }
        if self.supers.pieces < self.burst_packets {
            return true;
        }
        self.supers.pieces = 0;
        false
    }

    fn plan_of_rest<M: Sharing>(&self, shared: &Shared<M>, rest: &Packet) -> Option<Plan> {
        let rest = Uncut::of(rest, rest.segmentation?);
        self.supers.plan(shared, rest)
    }

    /// Whether more of a rest may go at once.
    fn goes_on<M: Sharing, R: TxRing>(&self, shared: &Shared<M>, ring: &R) -> bool {
        self.keeps_rest()
            && self.supers.pieces < self.burst_packets
            && shared.ledger.has_room()
            && ring.slots_free() >= ring.slots_of_largest()
    }

    /// Whether a rest stays in hand while more of it may go. With a shared gate the discipline has it first:
    /// others may wait for the room.
    fn keeps_rest(&self) -> bool {
        !A::SHARED && self.qdisc.requeue_support() == RequeueSupport::Next
    }

    /// Sends pieces of a packet, as many as may go at once. Returns the rest.
    fn send_pieces<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        mut packet: Packet,
        mut plan: Plan,
        at: &mut Context<'_, S, P>,
    ) -> Option<Packet> {
        let counters = &*shared.sender;
        let Some(pieces) = self.count_pieces(shared, ring, &plan, at.now_ns) else {
            dropped(
                packet,
                DropReason::Uncountable,
                counters,
                &mut self.supers.cutter,
                at,
            );
            return None;
        };
        let (all_bytes, is_first) = (plan.bytes_of(pieces), plan.is_first());
        let is_all = pieces == plan.pieces();
        let mark = self.ages.mark;
        let cutter = self.supers.cutter.as_mut()?;
        cutter.begin(&plan);
        let (mut sent, mut refused) = (0, None);
        while sent < pieces - u32::from(is_all) {
            let piece = plan.piece(&packet, mark);
            at.probe.event(at.now_ns, Event::Sent(&piece));
            if let Err(piece) = ring.submit(piece, at.now_ns) {
                refused = Some(piece);
                break;
            }
            plan.advance();
            sent += 1;
        }
        let mut sent_bytes = plan.bytes * sent;
        cutter.went(&plan, &mut packet, sent);
        let mut rest = Some(packet);
        if is_all
            && refused.is_none()
            && let Some(packet) = rest.take()
        {
            let piece = cutter.last(&plan, packet, mark);
            let bytes = piece.wire_bytes();
            at.probe.event(at.now_ns, Event::Sent(&piece));
            match ring.submit(piece, at.now_ns) {
                Err(piece) => refused = Some(piece),
                Ok(()) => {
                    sent += 1;
                    sent_bytes += bytes;
                }
            }
        }
        let tried = sent + u32::from(refused.is_some());
        self.kick_pending |= sent > 0;
        self.supers.pieces += tried;
        add(&counters.cut_packets, u64::from(is_first));
        add(&counters.pieces, u64::from(tried));
        add(&counters.sent_packets, sent.into());
        add(&counters.sent_bytes, sent_bytes.into());
        match refused {
            None => rest,
            Some(object) => {
                self.uncount(shared, all_bytes - sent_bytes, pieces - sent);
                self.refuse(shared, &object, rest, at);
                None
            }
        }
    }

    /// Accounts for pieces, before the device can see them: as many as may go at once. `None` if not one
    /// can be counted.
    fn count_pieces<M: Sharing, R: TxRing>(
        &mut self,
        shared: &Shared<M>,
        ring: &R,
        plan: &Plan,
        now_ns: u64,
    ) -> Option<u32> {
        let mut pieces = 1;
        if self.keeps_rest() {
            let room = shared.ledger.room().max(0) as u32;
            // The limit lets one more object go while it is not passed.
            let by_limit = room / self.unit.of(plan.bytes) + 1;
            let by_slots = ring.slots_free() / ring.slots_of_largest().max(1);
            let left = self.burst_packets.saturating_sub(self.supers.pieces);
            let most = by_limit.min(by_slots).min(left).min(plan.pieces());
            pieces = most.max(1);
        }
        if self.count(shared, plan, pieces, now_ns) {
            return Some(pieces);
        }
        // Too much together, perhaps.
        (pieces > 1 && self.count(shared, plan, 1, now_ns)).then_some(1)
    }

    fn count<M: Sharing>(
        &mut self,
        shared: &Shared<M>,
        plan: &Plan,
        pieces: u32,
        now_ns: u64,
    ) -> bool {
        let bytes = plan.bytes_of(pieces);
        let last = bytes - plan.bytes_of(pieces - 1);
        if !self.admission.can_charge(bytes) {
            return false;
        }
        // Also where packets are counted: their bytes are summed up too.
        if pieces > 1 && bytes > MAX_OBJECT {
            return false;
        }
        let units = self.unit.of_many(pieces, bytes);
        let (ledger, last) = (&shared.ledger, self.unit.of(last));
        ledger.answer(now_ns);
        if ledger.queued_together(units, last).is_err() {
            return false;
        }
        self.admission.charge(bytes, now_ns);
        true
    }

    /// Takes back so many objects, the last that were counted: as if they had never been sent.
    fn uncount<M: Sharing>(&mut self, shared: &Shared<M>, bytes: u32, pieces: u32) {
        let units = self.unit.of_many(pieces, bytes);
        shared.ledger.unqueue(units);
        self.admission.uncharge(bytes);
    }

    fn requeue<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        rest: Packet,
        at: &mut Context<'_, S, P>,
    ) {
        at.probe.event(at.now_ns, Event::Requeued(&rest));
        let header_bytes = rest.segmentation.map_or(0, |cut| cut.header_bytes.into());
        let unsent_bytes = rest.wire_bytes().saturating_sub(header_bytes);
        if let Err(rest) = self.qdisc.requeue(rest, unsent_bytes, at.now_ns) {
            let (reason, cutter) = (DropReason::QueueFull, &mut self.supers.cutter);
            dropped(rest, reason, &shared.sender, cutter, at);
        }
    }

    /// The device does not take a piece. What is left of its packet, the piece included if it is not the
    /// last, is not sent either.
    fn refuse<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        object: &Packet,
        rest: Option<Packet>,
        at: &mut Context<'_, S, P>,
    ) {
        let (counters, reason) = (&shared.sender, DropReason::DeviceRefused);
        let unsent = rest.as_ref().unwrap_or(object);
        add(&counters.dropped_segments, unsent.segments().into());
        count_drop(counters, reason);
        at.probe.event(at.now_ns, Event::Dropped(object, reason));
        at.sink.segments_dropped(unsent, reason);
        let ended = self.supers.cutter.as_mut().and_then(|cutter| match rest {
            Some(rest) => cutter.dropped(rest, reason),
            None => cutter.last_refused(object),
        });
        if let Some(Ended { whole, .. }) = ended {
            at.sink.dropped(whole, reason);
        }
    }
}
