//! The interface to observers of a queue.

use crate::limit::{CompletedCounts, CompletionBatch};
use crate::packet::{DropReason, Packet};
use crate::queue::{Repair, StopReason};
use taut_dql::Stall;

/// An event of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A packet was passed to the discipline.
    Enqueued(&'a Packet),
    /// The discipline passed a packet to the sender.
    Dequeued(&'a Packet),
    /// The remainder of the last packet was requeued, after a chunk of it was sent.
    Requeued(&'a Packet),
    /// A packet was dropped. For [`DropReason::DeviceRefused`] it was reported as sent before.
    Dropped(&'a Packet, DropReason),
    /// The discipline marked a packet instead of dropping it.
    Marked(&'a Packet),
    /// A packet was counted and is about to be submitted.
    Sent(&'a Packet),
    /// Packets were queued and the limit had no room: one event for each run of the sender.
    Blocked,
    /// The device completed packets that count for the limit.
    Completed(CompletedCounts),
    /// A completion batch, as passed to the limit rule.
    Batch(&'a CompletionBatch),
    /// The limit at the start and after each completion batch, in its own units.
    Limit(u32),
    /// Completions have become valid (`true`) or early (`false`). While they are early, no limit is
    /// applied.
    CompletionsValid(bool),
    /// The queue stopped.
    Stopped(StopReason),
    /// The device ran dry while the limit blocked the sender.
    Starved,
    /// The oldest unit in flight is older than the threshold.
    Stalled(Stall),
    /// The driver returned this many packets that this queue never sent.
    UnknownCompletions(u32),
    /// The ledger was wrong and was corrected.
    Repaired(Repair),
    /// The queue was reset.
    Reset,
}

/// Receives the events of a queue. `()` ignores them at no cost; `(a, b)` passes each event to
/// both.
///
/// Traces, metrics, time series and checkers are probes. Each half of a queue calls its own probe,
/// so a probe that both threads share must synchronise itself.
pub trait Probe {
    /// Receives an event at `now_ns`.
    fn event(&mut self, now_ns: u64, event: Event<'_>);

    /// Returns `true` if it receives events. Called before an event that takes work to describe.
    #[inline]
    fn is_enabled(&self) -> bool {
        true
    }
}

impl Probe for () {
    #[inline]
    fn event(&mut self, _now_ns: u64, _event: Event<'_>) {}

    #[inline]
    fn is_enabled(&self) -> bool {
        false
    }
}

macro_rules! behind_a_pointer {
    ($($pointer:ty),*) => {$(
        impl<P: Probe + ?Sized> Probe for $pointer {
            #[inline]
            fn event(&mut self, now_ns: u64, event: Event<'_>) {
                (**self).event(now_ns, event);
            }

            #[inline]
            fn is_enabled(&self) -> bool {
                (**self).is_enabled()
            }
        }
    )*};
}

behind_a_pointer!(&mut P, alloc::boxed::Box<P>);

impl<P: Probe> Probe for Option<P> {
    #[inline]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Some(probe) = self {
            probe.event(now_ns, event);
        }
    }

    #[inline]
    fn is_enabled(&self) -> bool {
        self.as_ref().is_some_and(P::is_enabled)
    }
}

/// Two probes; the first receives an event first.
impl<A: Probe, B: Probe> Probe for (A, B) {
    #[inline]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        self.0.event(now_ns, event);
        self.1.event(now_ns, event);
    }

    #[inline]
    fn is_enabled(&self) -> bool {
        self.0.is_enabled() || self.1.is_enabled()
    }
}
