//! The sending half, generic over the way it shares the queue with the completing half.

use super::admission::Admission;
use super::burst::{BurstEnd, Sending};
use super::context::Context;
use super::counters::add;
use super::error::NoRoom;
use super::outcome::{Stop, StopReason};
use super::outlet::Outlet;
use super::shared::Shared;
use super::sink::CountingSink;
use crate::driver::TxRing;
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::qdisc::Qdisc;
use crate::sharing::Sharing;

/// The sender's own state of a queue.
pub(super) struct SendHalf<Q, A> {
    pub qdisc: Q,
    pub outlet: Outlet<A>,
    /// The last reset that ended.
    pub epoch: u32,
}

impl<Q: Qdisc, A: Admission> SendHalf<Q, A> {
    #[inline(always)]
    pub(super) fn enqueue<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
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
            segmenter: &mut self.outlet.gso.segmenter,
        };
        self.qdisc.enqueue(packet, now_ns, &mut sink);
    }

    #[inline]
    pub(super) fn offer<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
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
    pub(super) fn run<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        mut at: Context<'_, S, P>,
    ) -> Stop<R::Error> {
        // On one thread, a reset has ended before the sender runs again.
        if M::SHARED && shared.reset.concerns(self.epoch) && !self.take_part_in_reset(shared) {
            return shared.or_closed(Stop::Limit);
        }
        self.outlet.begin_generation(shared, at.now_ns);
        let stop = self.run_until_stopped(shared, ring, &mut at);
        self.outlet.admission.share_room();
        stop
    }

    /// Begins a reset that was requested. Returns `true` if it has ended, so that packets may be
    /// sent.
    #[cold]
    pub(super) fn take_part_in_reset<M: Sharing>(&mut self, shared: &Shared<M>) -> bool {
        if shared.reset.begin() {
            shared.completer_waker.wake_by_ref();
        }
        // No packet of the new epoch may be sent before the completer ends the reset, which opens
        // the gate.
        let has_ended = || shared.reset.epoch().is_some();
        if !has_ended() && shared.stack.close_unless(has_ended) {
            // Not blocked by the admission: a wake-up by another queue would have no effect.
            self.outlet.admission.admits(false);
            self.outlet.admission.share_room();
            return false;
        }
        if let Some(epoch) = shared.reset.epoch() {
            self.epoch = epoch;
            self.outlet.tag = self.outlet.tag.in_epoch(epoch);
        }
        true
    }

    // Kept out of line: inlined, it would need registers of the burst loop.
    #[inline(never)]
    fn run_until_stopped<M: Sharing, R: TxRing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &mut R,
        at: &mut Context<'_, S, P>,
    ) -> Stop<R::Error> {
        // Ring a failed doorbell again first, even if the queue is stopped: packets that the device
        // has not seen never complete.
        if let Err(error) = self.outlet.kick(shared, ring, at.now_ns) {
            return Stop::Failed(error);
        }
        loop {
            if shared.stack.is_closed() {
                self.note_blocked(shared, at);
                return shared.or_closed(Stop::Limit);
            }
            if shared.driver.is_closed() {
                return shared.or_closed(Stop::RingFull);
            }
            let end = self.send_burst(shared, ring, at);
            if let BurstEnd::Gso = end
                && self.send_gso(shared, ring, at)
            {
                continue;
            }
            if let Err(error) = self.outlet.kick(shared, ring, at.now_ns) {
                return Stop::Failed(error);
            }
            // Checked first, because it is the most frequent case.
            if let BurstEnd::Empty = end {
                let ready_ns = self.qdisc.next_ready(at.now_ns);
                return ready_ns.map_or(Stop::Idle, Stop::NotReady);
            }
            match end {
                BurstEnd::NoRoom => self.stop_stack(shared, ring, at),
                BurstEnd::NoSlots => stop_driver(shared, ring, at),
                BurstEnd::Full | BurstEnd::Gso | BurstEnd::Empty => {}
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
        let burst_packets = self.outlet.burst_packets;
        let mut sending = Sending {
            shared,
            ring,
            at,
            outlet: &mut self.outlet,
            burst_packets,
            left_packets: burst_packets,
            end: BurstEnd::Empty,
        };
        // A discipline cannot take a packet back, so check the room first.
        if sending.continues() {
            let now_ns = sending.at.now_ns;
            self.qdisc.dequeue_burst(now_ns, &mut sending);
        }
        sending.end
    }

    fn stop_stack<M: Sharing, R: TxRing, S: ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        ring: &R,
        at: &mut Context<'_, S, P>,
    ) {
        if shared.stack.close_unless(|| self.outlet.has_room(shared)) {
            // A quarter as hysteresis, so that the two stops do not alternate.
            if shared.ledger.is_ring_limiting() && ring.slots_free() > ring.capacity_slots() / 4 {
                shared.ledger.note_ring_free();
            }
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
        // Recheck: the completer might have made room after the first check.
        if !waits || self.outlet.has_room(shared) {
            return;
        }
        if A::SHARED && shared.ledger.has_room() {
            // Its own limit does not block it.
            self.outlet.admission.note_blocked();
        } else {
            shared.ledger.note_blocked(1);
            at.probe.event(at.now_ns, Event::Blocked);
        }
    }

    pub(super) fn flush<M: Sharing, S: PacketSink + ?Sized, P: Probe>(
        &mut self,
        shared: &Shared<M>,
        at: Context<'_, S, P>,
    ) {
        let mut sink = CountingSink {
            at,
            cells: &shared.sender,
            segmenter: &mut self.outlet.gso.segmenter,
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
        shared.ledger.note_ring_full();
        add(&shared.sender.ring_stops, 1);
        let event = Event::Stopped(StopReason::RingFull);
        at.probe.event(at.now_ns, event);
    }
}
