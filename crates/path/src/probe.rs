//! The seam to whoever watches a queue.

use crate::limit::Done;
use crate::packet::{DropReason, Packet};
use crate::queue::StopReason;
use taut_dql::Stall;

/// Hears what happens on the path. `()` hears nothing and costs nothing.
///
/// Traces, metrics, time series and checkers are probes. Each half of a queue calls its own, so a
/// probe that both threads share is the caller's to synchronise.
pub trait Probe {
    /// The discipline was handed a packet.
    fn on_enqueue(&mut self, _now_ns: u64, _packet: &Packet) {}
    /// The discipline gave a packet to the transmit queue.
    fn on_dequeue(&mut self, _now_ns: u64, _packet: &Packet) {}
    /// A packet was dropped.
    fn on_drop(&mut self, _now_ns: u64, _packet: &Packet, _reason: DropReason) {}
    /// The discipline marked a packet instead of dropping it.
    fn on_mark(&mut self, _now_ns: u64, _packet: &Packet) {}
    /// A packet is accounted for and goes to the device.
    fn on_sent(&mut self, _now_ns: u64, _packet: &Packet) {}
    /// The device finished packets, which count for the limit.
    fn on_completed(&mut self, _now_ns: u64, _done: Done) {}
    /// The limit after a completion round, in its own units.
    fn on_limit(&mut self, _now_ns: u64, _limit: u32) {}
    /// The queue stopped.
    fn on_stopped(&mut self, _now_ns: u64, _reason: StopReason) {}
    /// The device ran dry while the limit held the sender back.
    fn on_starved(&mut self, _now_ns: u64) {}
    /// The oldest byte in flight is older than the threshold.
    fn on_stall(&mut self, _now_ns: u64, _stall: Stall) {}
    /// The queue was reset.
    fn on_reset(&mut self, _now_ns: u64) {}
}

impl Probe for () {}

impl<P: Probe + ?Sized> Probe for &mut P {
    fn on_enqueue(&mut self, now_ns: u64, packet: &Packet) {
        (**self).on_enqueue(now_ns, packet);
    }
    fn on_dequeue(&mut self, now_ns: u64, packet: &Packet) {
        (**self).on_dequeue(now_ns, packet);
    }
    fn on_drop(&mut self, now_ns: u64, packet: &Packet, reason: DropReason) {
        (**self).on_drop(now_ns, packet, reason);
    }
    fn on_mark(&mut self, now_ns: u64, packet: &Packet) {
        (**self).on_mark(now_ns, packet);
    }
    fn on_sent(&mut self, now_ns: u64, packet: &Packet) {
        (**self).on_sent(now_ns, packet);
    }
    fn on_completed(&mut self, now_ns: u64, done: Done) {
        (**self).on_completed(now_ns, done);
    }
    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        (**self).on_limit(now_ns, limit);
    }
    fn on_stopped(&mut self, now_ns: u64, reason: StopReason) {
        (**self).on_stopped(now_ns, reason);
    }
    fn on_starved(&mut self, now_ns: u64) {
        (**self).on_starved(now_ns);
    }
    fn on_stall(&mut self, now_ns: u64, stall: Stall) {
        (**self).on_stall(now_ns, stall);
    }
    fn on_reset(&mut self, now_ns: u64) {
        (**self).on_reset(now_ns);
    }
}
