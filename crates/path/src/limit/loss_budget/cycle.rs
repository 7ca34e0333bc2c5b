//! A cycle: from the last batch before a return of the sender to the last batch before the next.
//!
//! An interval between two batches is not enough. If sender and device are programs on one core,
//! the device makes no progress while the sender runs, and only a whole cycle contains both.

/// The longest pause of the sender that a limit bridges, in ns. A longer one counts as this much.
pub(super) const MAX_PAUSE_NS: u64 = 10_000_000;

/// The cycle that is measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cycle {
    /// The last batch before the sender's return.
    pub start_ns: u64,
    /// Units queued before the return that completed after the start or are in flight.
    pub old_units: u64,
    /// The limit stopped the sender before that batch.
    pub start_blocked: bool,
    /// Nothing was queued under another limit, and the cycle was not measured yet.
    pub is_measurable: bool,
    pub returned_ns: u64,
    /// The first batch after the return.
    pub first_batch_ns: u64,
    /// In flight after the return.
    pub first_in_flight: u32,
    /// Completed since.
    pub units: u64,
}

/// A cycle that began and ended with a sender that the limit stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub units: u64,
    pub span_ns: u64,
    /// Those of the units that were queued after the return, and the time from then.
    pub new_units: u64,
    pub since_return_ns: u64,
    /// An object that the device may have sent in part when the cycle began or ended.
    pub partial_units: u32,
    /// The device was certainly busy: only its rate bounded the units.
    pub is_certain: bool,
    /// The sender was away for longer than a limit bridges.
    pub has_long_pause: bool,
}

impl Cycle {
    /// The sample of this cycle, if it ends at `end_ns` with `left` units and a blocked sender.
    pub(super) fn sample(&self, end_ns: u64, left: u32, object: u32) -> Option<Sample> {
        let span_ns = end_ns.saturating_sub(self.start_ns);
        let away_ns = self.returned_ns.saturating_sub(self.start_ns);
        // A sender that was not stopped may have had nothing to send, unless it returned at once.
        let returned_at_once = away_ns <= span_ns / 32;
        let had_backlog = self.start_blocked || returned_at_once;
        if !self.is_measurable || span_ns == 0 || !had_backlog {
            return None;
        }
        let has_long_pause = away_ns > MAX_PAUSE_NS;
        // Busy until the return: objects from before the cycle are still in flight, the sender
        // returned at once, or the device began empty and its first objects show when.
        let was_busy = self.units < self.old_units
            || returned_at_once
            || self.old_units == 0 && self.units >= 4 * u64::from(object) && !has_long_pause;
        let is_certain = left > 0 && self.units < u64::from(self.first_in_flight) && was_busy;
        Some(Sample {
            units: self.units,
            span_ns,
            new_units: self.units.saturating_sub(self.old_units),
            partial_units: u64::from(object).min(self.old_units.max(left.into())) as u32,
            since_return_ns: end_ns.saturating_sub(self.returned_ns),
            is_certain,
            has_long_pause,
        })
    }
}
