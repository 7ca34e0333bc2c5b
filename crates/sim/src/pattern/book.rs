//! The books of a run: how long bytes were where, and how long the wire was busy or dry.

use std::mem::take;

use super::losses::Losses;
use crate::nic::WireWatch;

/// Sums since the start, or since the [measured time began](Book::begin).
#[derive(Debug, Clone)]
pub(super) struct Book {
    /// Bytes not sent times the time that they were in the ring. A packet counts whole until its
    /// last bit has left.
    pub(super) unsent_byte_ns: u128,
    /// The same until they were reported: queued minus reported.
    pub(super) in_flight_byte_ns: u128,
    /// The wire was sending.
    pub(super) busy_ns: u64,
    /// The wire was not, and something waited.
    pub(super) dry_ns: u64,
    /// That, before the measured time.
    pub(super) dry_before_ns: u64,
    /// Step by step from the start, if that is kept.
    pub(super) losses: Option<Losses>,
    /// Since when something waited for room, if anything does.
    waiting_since_ns: Option<u64>,
}

impl Book {
    pub(super) fn new(keeps_losses: bool) -> Self {
        Self {
            unsent_byte_ns: 0,
            in_flight_byte_ns: 0,
            busy_ns: 0,
            dry_ns: 0,
            dry_before_ns: 0,
            losses: keeps_losses.then(Losses::default),
            waiting_since_ns: None,
        }
    }

    /// From here on it is measured: all until now is in the books.
    pub(super) fn begin(&mut self) {
        self.dry_before_ns = take(&mut self.dry_ns);
        (self.unsent_byte_ns, self.in_flight_byte_ns, self.busy_ns) = (0, 0, 0);
    }

    /// Something waits from now on, or nothing does.
    pub(super) fn set_waiting(&mut self, waiting: bool, now_ns: u64) {
        self.waiting_since_ns = match self.waiting_since_ns {
            Some(since_ns) if waiting => Some(since_ns),
            _ => waiting.then_some(now_ns),
        };
    }
}

impl WireWatch for Book {
    #[inline]
    fn sent(&mut self, bytes: u32, submitted_ns: u64, starts_ns: u64, ends_ns: u64) {
        self.busy_ns += ends_ns - starts_ns;
        if let Some(losses) = &mut self.losses {
            losses.sent(starts_ns, ends_ns);
        }
        self.unsent_byte_ns += u128::from(bytes) * u128::from(ends_ns - submitted_ns);
    }

    #[inline]
    fn reported(&mut self, bytes: u32, submitted_ns: u64, now_ns: u64) {
        self.in_flight_byte_ns += u128::from(bytes) * u128::from(now_ns - submitted_ns);
    }

    /// That is dry only while something waited.
    fn was_idle(&mut self, since_ns: u64, until_ns: u64) {
        if let Some(waiting_ns) = self.waiting_since_ns {
            let since_ns = since_ns.max(waiting_ns);
            self.dry_ns += until_ns.saturating_sub(since_ns);
            if let Some(losses) = &mut self.losses {
                losses.dry(since_ns, until_ns);
            }
        }
    }
}
