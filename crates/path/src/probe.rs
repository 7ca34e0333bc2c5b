//! The seam to whoever watches a queue.

use crate::limit::{CompletionBatch, Done};
use crate::packet::{DropReason, Packet};
use crate::queue::{Repair, StopReason};
use taut_dql::Stall;

/// What happened on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The discipline was handed a packet.
    Enqueued(&'a Packet),
    /// The discipline gave a packet to the transmit queue.
    Dequeued(&'a Packet),
    /// The discipline got back what is left of the packet that it gave last, of which a piece was sent.
    HandedBack(&'a Packet),
    /// A packet was dropped. For [`DropReason::DeviceRefused`] it was told as sent before.
    Dropped(&'a Packet, DropReason),
    /// The discipline marked a packet instead of dropping it.
    Marked(&'a Packet),
    /// A packet is accounted for and goes to the device.
    Sent(&'a Packet),
    /// Something waited, and the limit had no room for it: told each time that the sender is run.
    Refused,
    /// The device finished packets, which count for the limit.
    Completed(Done),
    /// The limit's rule is told of a round of completions, all that it hears of it.
    Round(&'a CompletionBatch),
    /// The limit at the start, and after each completion round, in its own units.
    Limit(u32),
    /// Whether completions mean that packets left the device, when that changes: while they do
    /// not, there is no limit.
    CompletionsTrue(bool),
    /// The queue stopped.
    Stopped(StopReason),
    /// The device ran dry while the limit held the sender back.
    Starved,
    /// The oldest unit in flight is older than the threshold.
    Stalled(Stall),
    /// The driver handed back so many packets that this queue never sent.
    Stray(u32),
    /// The ledger was wrong, and was put right.
    Repaired(Repair),
    /// The queue was reset.
    Reset,
}

/// Hears what happens on the path. `()` hears nothing and costs nothing; `(a, b)` is both.
///
/// Traces, metrics, time series and checkers are probes. Each half of a queue calls its own, so a
/// probe that both threads share is the caller's to synchronise.
pub trait Probe {
    /// Something happened at `now_ns`.
    fn event(&mut self, now_ns: u64, event: Event<'_>);

    /// Whether it hears anything; asked before an event that takes work to describe.
    #[inline]
    fn listens(&self) -> bool {
        true
    }
}

impl Probe for () {
    #[inline]
    fn event(&mut self, _now_ns: u64, _event: Event<'_>) {}

    #[inline]
    fn listens(&self) -> bool {
        false
    }
}

impl<P: Probe + ?Sized> Probe for &mut P {
    #[inline]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        (**self).event(now_ns, event);
    }

    #[inline]
    fn listens(&self) -> bool {
        (**self).listens()
    }
}

impl<P: Probe + ?Sized> Probe for alloc::boxed::Box<P> {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        (**self).event(now_ns, event);
    }

    fn listens(&self) -> bool {
        (**self).listens()
    }
}

/// Nothing, or a probe.
impl<P: Probe> Probe for Option<P> {
    #[inline]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Some(probe) = self {
            probe.event(now_ns, event);
        }
    }

    #[inline]
    fn listens(&self) -> bool {
        self.as_ref().is_some_and(P::listens)
    }
}

/// Two probes side by side; the first hears first.
impl<A: Probe, B: Probe> Probe for (A, B) {
    #[inline]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        self.0.event(now_ns, event);
        self.1.event(now_ns, event);
    }

    #[inline]
    fn listens(&self) -> bool {
        self.0.listens() || self.1.listens()
    }
}
