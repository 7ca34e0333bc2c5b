//! Sends GSO packets in chunks.

use super::admission::Admission;
use super::context::Context;
use super::counters::{add, count_drop};
use super::send::SendHalf;
use super::shared::Shared;
use super::sink::dropped;
use crate::driver::TxRing;
use crate::late_segmentation::{EndedPacket, Plan, Unsegmented};
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::qdisc::{Qdisc, RequeueSupport};
use crate::sharing::Sharing;
use taut_dql::MAX_OBJECT;

/// The result of a submission of chunks.
struct Submitted {
    chunks: u32,
    bytes: u32,
    /// The chunk that the device refused.
    rejected: Option<Packet>,
    /// The remainder of the packet, if its last chunk was not submitted.
    remainder: Option<Packet>,
}

impl<Q: Qdisc, A: Admission> SendHalf<Q, A> {
    /// Sends as many chunks of the stashed GSO packet as may be sent now, and requeues the
    /// remainder. Returns `true` if the same doorbell can announce more packets.
    #[cold]
    #[inline(never)]
    pub(super) fn send_gso<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> bool {
        let mut next = self.outlet.gso.stash.take();
        while let Some((packet, plan)) = next.take() {
            let Some(remainder) = self.send_chunks(shared, ring, packet, plan, at) else {
                break;
            };
            if !self.continues(shared, ring) {
                self.requeue(shared, remainder, at);
                break;
            }
            match self.plan_of_remainder(shared, &remainder) {
                Some(plan) => next = Some((remainder, plan)),
                None => self.requeue(shared, remainder, at),
            }
        }
        if self.outlet.gso.chunks < self.outlet.burst_packets {
            return true;
        }
        self.outlet.gso.chunks = 0;
        false
    }

    fn plan_of_remainder<M: Sharing>(
        &self,
        shared: &Shared<M>,
        remainder: &Packet,
    ) -> Option<Plan> {
        let remainder = Unsegmented::of(remainder, remainder.segmentation?);
        self.outlet.gso.plan(shared, remainder)
    }

    /// Returns `true` if more of a remainder may be sent now.
    fn continues<M: Sharing, R: TxRing>(&self, shared: &Shared<M>, ring: &R) -> bool {
        self.keeps_remainder()
            && self.outlet.gso.chunks < self.outlet.burst_packets
            && shared.ledger.has_room()
            && ring.slots_free() >= ring.slots_of_largest()
    }

    /// Returns `true` if the sender keeps the remainder while more of it may be sent. With a shared
    /// gate it returns to the discipline first, because other queues might wait for the room.
    fn keeps_remainder(&self) -> bool {
        !A::SHARED && self.qdisc.requeue_support() == RequeueSupport::Next
    }

    /// Sends as many chunks of a packet as may be sent now. Returns the remainder.
    fn send_chunks<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        packet: Packet,
        plan: Plan,
        at: &mut Context<'_, S, P>,
    ) -> Option<Packet> {
        let counters = &*shared.sender;
        let Some(chunks) = self.count_chunks(shared, ring, &plan, at.now_ns) else {
            dropped(
                packet,
                DropReason::Uncountable,
                counters,
                &mut self.outlet.gso.segmenter,
                at,
            );
            return None;
        };
        let (all_bytes, is_first) = (plan.bytes_of(chunks), plan.is_first());
        self.outlet.gso.segmenter.begin(&plan);
        let submitted = self.submit_chunks(ring, packet, plan, chunks, at);
        let sent = submitted.chunks;
        let tried = sent + u32::from(submitted.rejected.is_some());
        self.outlet.kick_pending |= sent > 0;
        self.outlet.gso.chunks += tried;
        add(&counters.segmented_packets, u64::from(is_first));
        add(&counters.chunks, u64::from(tried));
        add(&counters.sent_packets, sent.into());
        add(&counters.sent_bytes, submitted.bytes.into());
        let Some(object) = submitted.rejected else {
            return submitted.remainder;
        };
        let (bytes, chunks) = (all_bytes - submitted.bytes, chunks - sent);
        let units = self.outlet.unit.of_many(chunks, bytes);
        self.outlet.uncount(shared, units, bytes);
        self.refuse(shared, &object, submitted.remainder, at);
        None
    }

    /// Submits `chunks` chunks of a packet, including the last one if these are all.
    fn submit_chunks<R: TxRing, S: ?Sized, P: Probe>(
        &mut self,
        ring: &mut R,
        mut packet: Packet,
        mut plan: Plan,
        chunks: u32,
        at: &mut Context<'_, S, P>,
    ) -> Submitted {
        let mut submit = |chunk: Packet| {
            at.probe.event(at.now_ns, Event::Sent(&chunk));
            ring.submit(chunk, at.now_ns).err()
        };
        let (is_all, tag) = (chunks == plan.chunks(), self.outlet.tag);
        let segmenter = &mut self.outlet.gso.segmenter;
        let (mut sent, mut rejected) = (0, None);
        while sent < chunks - u32::from(is_all) && rejected.is_none() {
            rejected = submit(plan.chunk(&packet, tag));
            if rejected.is_none() {
                plan.advance();
                sent += 1;
            }
        }
        let bytes = plan.bytes * sent;
        segmenter.went(&plan, &mut packet, sent);
        if !is_all || rejected.is_some() {
            return Submitted {
                chunks: sent,
                bytes,
                rejected,
                remainder: Some(packet),
            };
        }
        let last = segmenter.last(&plan, packet, tag);
        let last_bytes = last.wire_bytes();
        let rejected = submit(last);
        let is_sent = rejected.is_none();
        Submitted {
            chunks: sent + u32::from(is_sent),
            bytes: bytes + if is_sent { last_bytes } else { 0 },
            rejected,
            remainder: None,
        }
    }

    /// Counts chunks before the device can see them: as many as may be sent now. Returns `None` if
    /// not even one can be counted.
    fn count_chunks<M: Sharing, R: TxRing>(
        &mut self,
        shared: &Shared<M>,
        ring: &R,
        plan: &Plan,
        now_ns: u64,
    ) -> Option<u32> {
        let mut chunks = 1;
        if self.keeps_remainder() {
            let room = shared.ledger.room().max(0) as u32;
            // A limit that is not exceeded admits one more object.
            let by_limit = room / self.outlet.unit.of(plan.bytes) + 1;
            let by_slots = ring.slots_free() / ring.slots_of_largest().max(1);
            let left = self
                .outlet
                .burst_packets
                .saturating_sub(self.outlet.gso.chunks);
            let fitting = by_limit.min(by_slots).min(left).min(plan.chunks());
            chunks = fitting.max(1);
        }
        if self.count(shared, plan, chunks, now_ns) {
            return Some(chunks);
        }
        // The chunks together might be too large to count; try a single one.
        (chunks > 1 && self.count(shared, plan, 1, now_ns)).then_some(1)
    }

    fn count<M: Sharing>(
        &mut self,
        shared: &Shared<M>,
        plan: &Plan,
        chunks: u32,
        now_ns: u64,
    ) -> bool {
        let bytes = plan.bytes_of(chunks);
        let last = bytes - plan.bytes_of(chunks - 1);
        if !self.outlet.admission.can_charge(bytes) {
            return false;
        }
        // Also for a limit in packets, because bytes are counted too.
        if chunks > 1 && bytes > MAX_OBJECT {
            return false;
        }
        let units = self.outlet.unit.of_many(chunks, bytes);
        let (ledger, last) = (&shared.ledger, self.outlet.unit.of(last));
        ledger.record_return(now_ns);
        if ledger.queued_together(units, last).is_err() {
            return false;
        }
        self.outlet.admission.charge(bytes, now_ns);
        true
    }

    fn requeue<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        remainder: Packet,
        at: &mut Context<'_, S, P>,
    ) {
        at.probe.event(at.now_ns, Event::Requeued(&remainder));
        let header_bytes = remainder
            .segmentation
            .map_or(0, |segmentation| segmentation.header_bytes.into());
        let unsent_bytes = remainder.wire_bytes().saturating_sub(header_bytes);
        if let Err(remainder) = self.qdisc.requeue(remainder, unsent_bytes, at.now_ns) {
            let (reason, segmenter) = (DropReason::QueueFull, &mut self.outlet.gso.segmenter);
            dropped(remainder, reason, &shared.sender, segmenter, at);
        }
    }

    /// Handles a chunk that the device refused: the remainder of its packet, including this chunk,
    /// is dropped.
    fn refuse<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        object: &Packet,
        remainder: Option<Packet>,
        at: &mut Context<'_, S, P>,
    ) {
        let (counters, reason) = (&shared.sender, DropReason::DeviceRefused);
        let unsent = remainder.as_ref().unwrap_or(object);
        add(&counters.dropped_segments, unsent.segments().into());
        count_drop(counters, reason);
        at.probe.event(at.now_ns, Event::Dropped(object, reason));
        at.sink.segments_dropped(unsent, reason);
        let segmenter = &mut self.outlet.gso.segmenter;
        let ended = match remainder {
            Some(remainder) => segmenter.dropped(remainder, reason),
            None => segmenter.last_rejected(object),
        };
        if let Some(EndedPacket { whole, .. }) = ended {
            at.sink.dropped(whole, reason);
        }
    }
}
