//! The books of a run: how long bytes were where, and how long the wire was busy or dry. For a NIC
//! whose packets are finished at their end: of what is told at its start, the end would be in the
//! books too early.

use std::mem::take;

use super::losses::{Losses, Total};
use crate::NEVER_NS;
use crate::nic::WireWatch;

/// Bytes of all rings, and the sum of them over time.
#[derive(Debug, Clone, Copy, Default)]
struct HeldBytes {
    bytes: u64,
    byte_ns: u128,
    since_ns: u64,
}

impl HeldBytes {
    /// They were there until `now_ns`.
    #[inline]
    fn hold_until(&mut self, now_ns: u64) {
        // A round tells of many packets at one time.
        if now_ns != self.since_ns {
            let held_ns = now_ns - self.since_ns;
            self.byte_ns += u128::from(self.bytes) * u128::from(held_ns);
            self.since_ns = now_ns;
        }
    }
}

/// Sums over time.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// What is not sent. A packet counts whole until its last bit has left.
    unsent: HeldBytes,
    /// What is not reported: queued minus reported.
    in_flight: HeldBytes,
    /// The wire was sending; it was not, and something waited.
    wire: Total,
}

/// What is kept of a run.
#[derive(Debug, Clone)]
pub(crate) struct Book {
    /// Since the start,
    now: Sums,
    /// and when the measured time began.
    before: Sums,
    losses: Losses,
    /// When the step of the losses ends; never where they are not kept.
    step_ends_ns: u64,
    /// Since when something waited for room, if anything does.
    waiting_since_ns: Option<u64>,
}

impl Book {
    pub(crate) fn new(keeps_losses: bool) -> Self {
        Self {
            now: Sums::default(),
            before: Sums::default(),
            losses: Losses::default(),
            step_ends_ns: if keeps_losses { 0 } else { NEVER_NS },
            waiting_since_ns: None,
        }
    }

    /// All rings hold until `now_ns` what they hold.
    pub(crate) fn hold_until(&mut self, now_ns: u64) {
        self.now.unsent.hold_until(now_ns);
        self.now.in_flight.hold_until(now_ns);
    }

    /// From here on it is measured: all until now is in the books.
    pub(crate) fn begin(&mut self) {
        self.before = self.now;
    }

    /// Bytes that the wire has not sent, and bytes that were not reported.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.now.unsent.bytes, self.now.in_flight.bytes)
    }

    /// Something waits from now on, or nothing does.
    pub(crate) fn set_waiting(&mut self, waiting: bool, now_ns: u64) {
        self.waiting_since_ns = match self.waiting_since_ns {
            Some(since_ns) if waiting => Some(since_ns),
            _ => waiting.then_some(now_ns),
        };
    }

    /// What comes at `at_ns` may be in a later step.
    #[inline]
    fn reach(&mut self, at_ns: u64) {
        if at_ns >= self.step_ends_ns {
            self.step_ends_ns = self.losses.end_steps(at_ns, self.now.wire);
        }
    }

    /// How long the wire was dry in the measured time, in ns.
    pub(crate) fn dry_ns(&self) -> u64 {
        self.now.wire.dry_ns - self.before.wire.dry_ns
    }

    /// The same before it.
    pub(crate) fn dry_before_ns(&self) -> u64 {
        self.before.wire.dry_ns
    }

    /// How long the wire was sending in the measured time, in ns.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.now.wire.busy_ns - self.before.wire.busy_ns
    }

    /// Bytes not sent, and bytes not reported, times the measured time.
    pub(crate) fn byte_ns(&self) -> (u128, u128) {
        (
            self.now.unsent.byte_ns - self.before.unsent.byte_ns,
            self.now.in_flight.byte_ns - self.before.in_flight.byte_ns,
        )
    }

    /// The losses until now, if they are kept.
    pub(crate) fn take_losses(&mut self) -> Losses {
        let mut losses = take(&mut self.losses);
        if self.step_ends_ns < NEVER_NS {
            losses.end(self.now.wire);
        }
        losses
    }
}

impl WireWatch for Book {
    #[inline]
    fn submitted(&mut self, bytes: u32, now_ns: u64) {
        for level in [&mut self.now.unsent, &mut self.now.in_flight] {
            level.hold_until(now_ns);
            level.bytes += u64::from(bytes);
        }
    }

    #[inline]
    fn sent(&mut self, bytes: u32, starts_ns: u64, ends_ns: u64) {
        self.reach(ends_ns);
        self.now.wire.busy_ns += ends_ns - starts_ns;
        self.now.unsent.hold_until(ends_ns);
        self.now.unsent.bytes -= u64::from(bytes);
    }

    #[inline]
    fn reported(&mut self, bytes: u64, now_ns: u64) {
        self.now.in_flight.hold_until(now_ns);
        self.now.in_flight.bytes -= bytes;
    }

    /// That is dry only while something waited.
    fn was_idle(&mut self, since_ns: u64, until_ns: u64) {
        if let Some(waiting_ns) = self.waiting_since_ns {
            self.reach(until_ns);
            let since_ns = since_ns.max(waiting_ns);
            self.now.wire.dry_ns += until_ns.saturating_sub(since_ns);
        }
    }
}
