//! What the device has left to send.

use super::balance::FRACTION_BITS;
use super::cycle::MAX_PAUSE_NS;
use super::rate::Rate;

/// The longest time from the sender's return to the first batch that a limit bridges, in ns. It
/// contains the queue itself where a device reports all that it has at once, so without a bound a
/// limit could justify its own growth.
pub(super) const MAX_LATENCY_NS: u64 = 50_000_000;

/// A longer time between two batches is not a pause of a program, but a stalled device or a clock
/// that jumped. It is ignored.
const MAX_GAP_NS: u64 = 100_000_000;

/// A level in units with fraction bits, at a time. It falls at the rate of the device; below 0 is
/// what the device could have sent besides.
#[derive(Debug, Clone, Default)]
pub(super) struct Level {
    units: i64,
    at_ns: u64,
}

impl Level {
    pub(super) fn at(units: u32, now_ns: u64) -> Self {
        Self {
            units: i64::from(units) << FRACTION_BITS,
            at_ns: now_ns,
        }
    }

    pub(super) fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// What a full link would have left of the level at `now_ns`.
    fn fall(&mut self, rate: &Rate, now_ns: u64, max_ns: u64) -> i64 {
        let span_ns = now_ns.saturating_sub(self.at_ns);
        self.at_ns = self.at_ns.max(now_ns);
        let span_ns = if span_ns > MAX_GAP_NS { 0 } else { span_ns };
        self.units -= rate.sends(span_ns.min(max_ns));
        self.units
    }

    /// The sender queues `units` at `now_ns`, after `left` were left. Returns what the device lost
    /// until then.
    pub(super) fn refill(&mut self, rate: &Rate, now_ns: u64, left: u32, units: u32) -> u64 {
        let level = self
            .fall(rate, now_ns, MAX_PAUSE_NS)
            .min(i64::from(left) << FRACTION_BITS);
        self.units = level.max(0) + (i64::from(units) << FRACTION_BITS);
        level.min(0).unsigned_abs()
    }

    /// A batch leaves `left` units, the first of which may be half sent: `object` is the size of
    /// the largest. Returns the level that was expected.
    pub(super) fn correct(&mut self, rate: &Rate, now_ns: u64, left: u32, object: u32) -> i64 {
        let expected = self.fall(rate, now_ns, MAX_GAP_NS);
        let left_units = i64::from(left) << FRACTION_BITS;
        let object_units = i64::from(object) << FRACTION_BITS;
        self.units = if left > 0 {
            expected
                .min(left_units)
                .max((left_units - object_units).max(0))
        } else {
            expected.min(0)
        };
        expected
    }
}
