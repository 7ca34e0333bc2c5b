//! A burst of packets from the discipline into the ring.

use super::admission::Admission;
use super::context::Context;
use super::counters::{add, count_drop, subtract};
use super::outlet::Outlet;
use super::shared::Shared;
use super::sink::{dropped, marked};
use crate::driver::TxRing;
use crate::late_segmentation::Unsegmented;
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::{Event, Probe};
use crate::qdisc::Burst;
use crate::sharing::Sharing;

/// The reason why a burst ended.
#[derive(Clone, Copy)]
pub(super) enum BurstEnd {
    Full,
    NoRoom,
    NoSlots,
    Empty,
    /// The next packet is a GSO packet that is not sent whole: it is stashed.
    Gso,
}

/// A burst that is being sent.
pub(super) struct Sending<'a, 'b, M: Sharing, A, R, S: ?Sized, P> {
    pub shared: &'a Shared<M>,
    pub ring: &'a mut R,
    pub at: &'a mut Context<'b, S, P>,
    pub outlet: &'a mut Outlet<A>,
    /// Packets of a full burst.
    pub burst_packets: u32,
    pub left_packets: u32,
    pub end: BurstEnd,
}

impl<M: Sharing, A: Admission, R: TxRing, S: PacketSink + ?Sized, P: Probe>
    Sending<'_, '_, M, A, R, S, P>
{
    /// Returns `true` if one more packet may be sent; otherwise records the reason.
    #[inline]
    pub(super) fn continues(&mut self) -> bool {
        self.end = if !self.outlet.has_room(self.shared) {
            BurstEnd::NoRoom
        } else if self.ring.slots_free() < self.ring.slots_of_largest() {
            BurstEnd::NoSlots
        } else if self.left_packets == 0 {
            BurstEnd::Full
        } else {
            return true;
        };
        false
    }

    /// Undoes the accounting of a packet that the device refused.
    #[cold]
    fn reject(&mut self, packet: Packet) {
        uncount(self.shared, self.outlet, packet.wire_bytes());
        self.dropped(packet, DropReason::DeviceRefused);
    }
}

/// A call of `submit`, dropped only if that panics. It has no copy of the packet's length, which
/// would take a register in each call.
struct Submission<'a, M: Sharing, A: Admission> {
    shared: &'a Shared<M>,
    outlet: &'a Outlet<A>,
    /// The length for a shared second limit, else 0.
    shared_bytes: u32,
}

impl<M: Sharing, A: Admission> Drop for Submission<'_, M, A> {
    // Inlined, so that the fields stay in registers.
    #[inline(always)]
    fn drop(&mut self) {
        lost(self.shared, self.outlet, self.shared_bytes);
    }
}

/// Counts the packet queued last as dropped: the driver lost it in a panic. For a limit in packets
/// without a shared second limit, its length is unknown and stays in the sent bytes.
#[cold]
#[inline(never)]
fn lost<M: Sharing, A: Admission>(shared: &Shared<M>, outlet: &Outlet<A>, shared_bytes: u32) {
    let units = shared.ledger.last_object();
    let bytes = shared_bytes.max(outlet.unit.bytes_of(units));
    outlet.uncount(shared, units, bytes);
    subtract(&shared.sender.sent_bytes, bytes.into());
    count_drop(&shared.sender, DropReason::DeviceRefused);
}

/// Undoes the accounting of a packet of `bytes`.
fn uncount<M: Sharing, A: Admission>(shared: &Shared<M>, outlet: &Outlet<A>, bytes: u32) {
    outlet.uncount(shared, outlet.unit.of(bytes), bytes);
    subtract(&shared.sender.sent_bytes, bytes.into());
}

impl<M: Sharing, A: Admission, R: TxRing, S: PacketSink + ?Sized, P: Probe> Burst
    for Sending<'_, '_, M, A, R, S, P>
{
    #[inline(always)]
    fn push(&mut self, mut packet: Packet) -> bool {
        let now_ns = self.at.now_ns;
        self.at.probe.event(now_ns, Event::Dequeued(&packet));
        // A cold path: GSO packets need state that the burst loop does not keep in registers.
        if let Some(segmentation) = packet.segmentation {
            let uncut = Unsegmented::of(&packet, segmentation);
            if let Some(plan) = self.outlet.gso.plan(self.shared, uncut) {
                self.outlet.gso.stash = Some((packet, plan));
                self.end = BurstEnd::Gso;
                return false;
            }
        }
        let bytes = packet.wire_bytes();
        let units = self.outlet.unit.of(bytes);
        if !self.outlet.count(self.shared, units, bytes, now_ns) {
            self.dropped(packet, DropReason::Uncountable);
            return self.continues();
        }
        packet.tag = self.outlet.tag;
        add(&self.shared.sender.sent_bytes, bytes.into());
        self.at.probe.event(now_ns, Event::Sent(&packet));
        let submission = Submission {
            shared: self.shared,
            outlet: self.outlet,
            shared_bytes: if A::SHARED { bytes } else { 0 },
        };
        let submitted = self.ring.submit(packet, now_ns);
        core::mem::forget(submission);
        // Counted now, so that neither a driver nor a sink that panics leaves a packet counted as
        // sent that is not in the ring.
        match submitted {
            Ok(()) => self.left_packets -= 1,
            Err(packet) => self.reject(packet),
        }
        self.continues()
    }
}

impl<M: Sharing, A, R, S: PacketSink + ?Sized, P: Probe> PacketSink
    for Sending<'_, '_, M, A, R, S, P>
{
    fn freed(&mut self, packet: Packet) {
        self.at.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let (cells, segmenter) = (&self.shared.sender, &mut self.outlet.gso.segmenter);
        dropped(packet, reason, cells, segmenter, self.at);
    }

    fn marked(&mut self, packet: &Packet) {
        marked(packet, &self.shared.sender, self.at);
    }
}

/// Also runs if a sink or a driver panics in the middle of a burst, so that no sent packet is
/// uncounted.
impl<M: Sharing, A, R, S: ?Sized, P> Drop for Sending<'_, '_, M, A, R, S, P> {
    #[inline]
    fn drop(&mut self) {
        let sent = u64::from(self.burst_packets - self.left_packets);
        add(&self.shared.sender.sent_packets, sent);
        self.outlet.kick_pending |= sent > 0;
    }
}
