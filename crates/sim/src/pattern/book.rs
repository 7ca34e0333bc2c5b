//! The books of a run: how long bytes were where, and how long the wire was busy or dry.

use std::mem::take;

use super::losses::{Losses, Total};
use crate::NEVER_NS;
use crate::nic::WireWatch;

/// Sums over time.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// Bytes not sent times the time that they were in the ring. A packet counts whole until its
    /// last bit has left.
    unsent_byte_ns: u128,
    /// The same until they were reported: queued minus reported.
    in_flight_byte_ns: u128,
    /// The wire was sending; it was not, and something waited.
    wire: Total,
}

/// What is kept of a run.
#[derive(Debug, Clone)]
pub(super) struct Book {
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
    pub(super) fn new(keeps_losses: bool) -> Self {
        Self {
            now: Sums::default(),
            before: Sums::default(),
            losses: Losses::default(),
            step_ends_ns: if keeps_losses { 0 } else { NEVER_NS },
            waiting_since_ns: None,
        }
    }

    /// From here on it is measured: all until now is in the books.
    pub(super) fn begin(&mut self) {
        self.before = self.now;
    }

    /// Something waits from now on, or nothing does.
    pub(super) fn set_waiting(&mut self, waiting: bool, now_ns: u64) {
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
    pub(super) fn dry_ns(&self) -> u64 {
        self.now.wire.dry_ns - self.before.wire.dry_ns
    }

    /// The same before it.
    pub(super) fn dry_before_ns(&self) -> u64 {
        self.before.wire.dry_ns
    }

    /// How long the wire was sending in the measured time, in ns.
    pub(super) fn busy_ns(&self) -> u64 {
        self.now.wire.busy_ns - self.before.wire.busy_ns
    }

    /// Bytes not sent, and bytes not reported, times the measured time.
    pub(super) fn byte_ns(&self) -> (u128, u128) {
        (
            self.now.unsent_byte_ns - self.before.unsent_byte_ns,
            self.now.in_flight_byte_ns - self.before.in_flight_byte_ns,
        )
    }

    /// The losses until now, if they are kept.
    pub(super) fn take_losses(&mut self) -> Losses {
        let mut losses = take(&mut self.losses);
        if self.step_ends_ns < NEVER_NS {
            losses.end(self.now.wire);
        }
        losses
    }
}

impl WireWatch for Book {
    #[inline]
    fn sent(&mut self, bytes: u32, submitted_ns: u64, starts_ns: u64, ends_ns: u64) {
        self.reach(ends_ns);
        self.now.wire.busy_ns += ends_ns - starts_ns;
        self.now.unsent_byte_ns += u128::from(bytes) * u128::from(ends_ns - submitted_ns);
    }

    #[inline]
    fn reported(&mut self, bytes: u32, submitted_ns: u64, now_ns: u64) {
        self.now.in_flight_byte_ns += u128::from(bytes) * u128::from(now_ns - submitted_ns);
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
