//! Sending super-packets, whole or in pieces.

use super::counters::add;
use super::send_side::{Context, SendSide, dropped};
use super::shared::Shared;
use crate::driver::TxRing;
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::qdisc::Qdisc;
use crate::sharing::{Number, Sharing};
use crate::split::{Ended, Plan};

impl<Q: Qdisc> SendSide<Q> {
    /// Sends the super-packet that was stashed, or as much of it as may go at once; the discipline has
    /// the rest back. Returns whether more may follow behind the same doorbell.
    #[cold]
    #[inline(never)]
    pub(super) fn send_super<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> bool {
        let mut next = self.stash.take();
        while let Some(packet) = next {
            next = self.send_object(shared, ring, packet, at);
            self.supers += 1;
            let Some(rest) = next.take() else {
                break;
            };
            at.probe.event(at.now_ns, Event::HandedBack(&rest));
            if self.goes_on(shared, ring) {
                at.probe.event(at.now_ns, Event::Dequeued(&rest));
                next = Some(rest);
            } else {
                self.hand_back(rest, at.now_ns);
            }
        }
        if self.supers < self.burst_packets {
            return true;
        }
        self.supers = 0;
        false
    }

    /// Whether the next piece of a rest may go at once. With a budget the discipline has it first: others
    /// may wait for the room.
    fn goes_on<M: Sharing, R: TxRing>(&self, shared: &Shared<M>, ring: &R) -> bool {
        self.discipline.rest_is_next()
            && self.supers < self.burst_packets
            && self.budget::<M>().is_none()
            && self.ledger.has_room(&shared.ledger)
            && ring.slots_free() >= ring.slots_of_largest()
    }

    /// Sends a packet, or a piece of it. Returns the rest.
    fn send_object<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        packet: Packet,
        at: &mut Context<'_, S, P>,
    ) -> Option<Packet> {
        let plan = self.cutter.as_ref().and_then(|cutter| {
            let most_bytes = match cutter.pieces_in_limit {
                Some(pieces) => self.ledger.limit(&shared.ledger) / pieces,
                None => shared.piece_bytes.load(),
            };
            cutter.plan(&packet, most_bytes)
        });
        let bytes = plan.map_or(packet.wire_bytes(), |plan| plan.bytes);
        let counters = &shared.published.sender;
        if !self.count_object(shared, bytes, at.now_ns) {
            let reason = DropReason::Uncountable;
            dropped(packet, reason, counters, &mut self.cutter, at);
            return None;
        }
        let (object, rest) = self.object(packet, plan, ring.lets_go());
        if let Some(plan) = plan {
            add(&counters.cut_packets, u64::from(plan.is_first()));
            add(&counters.pieces, 1);
        }
        at.probe.event(at.now_ns, Event::Sent(&object));
        match ring.submit(object, at.now_ns) {
            Err(object) => {
                self.refuse_object(shared, object, rest, at);
                None
            }
            Ok(()) => {
                self.kick_owed = true;
                add(&counters.sent_packets, 1);
                add(&counters.sent_bytes, bytes.into());
                rest
            }
        }
    }

    /// What goes of a packet, marked as sent, and what is left of it.
    fn object(
        &mut self,
        mut packet: Packet,
        plan: Option<Plan>,
        lets_go: bool,
    ) -> (Packet, Option<Packet>) {
        match (plan, &mut self.cutter) {
            (Some(plan), Some(cutter)) => {
                let (mut piece, rest) = cutter.cut(plan, packet, lets_go);
                piece.sent = self.mark.of_piece();
                (piece, rest)
            }
            _ => {
                packet.sent = self.mark;
                (packet, None)
            }
        }
    }

    /// Accounts for an object, before the device can see it.
    fn count_object<M: Sharing>(&mut self, shared: &Shared<M>, bytes: u32, now_ns: u64) -> bool {
        let budget = self.budget.as_ref().filter(|_| M::OBSERVED);
        if budget.is_some_and(|budget| !budget.can_count(bytes)) {
            return false;
        }
        let units = self.unit.of(bytes);
        if self.ledger.queued(&shared.ledger, units, now_ns).is_err() {
            return false;
        }
        if let Some(budget) = budget {
            budget.charge(bytes, now_ns);
        }
        true
    }

    fn hand_back(&mut self, rest: Packet, now_ns: u64) {
        let header_bytes = rest.segmentation.map_or(0, |cut| cut.header_bytes.into());
        let unsent_bytes = rest.wire_bytes().saturating_sub(header_bytes);
        self.discipline.hand_back(rest, unsent_bytes, now_ns);
    }

    /// The device does not take an object: as if it had never been sent. What is left of its packet is
    /// not sent either.
    fn refuse_object<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        object: Packet,
        rest: Option<Packet>,
        at: &mut Context<'_, S, P>,
    ) {
        let (bytes, reason) = (object.wire_bytes(), DropReason::DeviceRefused);
        self.ledger.unqueue(&shared.ledger, self.unit.of(bytes));
        if let Some(budget) = self.budget.as_ref().filter(|_| M::OBSERVED) {
            budget.uncharge(bytes);
        }
        let counters = &shared.published.sender;
        if !object.is_piece() {
            return dropped(object, reason, counters, &mut self.cutter, at);
        }
        for of in [Some(&object), rest.as_ref()].into_iter().flatten() {
            add(&counters.dropped_segments, of.segments().into());
            at.sink.segments_dropped(of, reason);
        }
        counters.dropped(reason);
        at.probe.event(at.now_ns, Event::Dropped(&object, reason));
        let cutter = self.cutter.as_mut();
        let ended = cutter.and_then(|cutter| cutter.refused(&object, rest));
        if let Some(Ended { whole, .. }) = ended {
            at.sink.dropped(whole, reason);
        }
    }
}
