//! The loss budget, and the limit that follows from it.

use taut_dql::MAX_LIMIT;

/// Fraction bits of all amounts here: a sent byte counts for a thousandth.
pub(super) const FRACTION_BITS: u32 = 20;

/// Losses are compensated for this long, in ns of the link's time. Half of it raises f07 by a third
/// of its loss; twice of it makes rare gaps cost the limit that they would need.
const MEMORY_NS: u64 = 5_000_000_000;

/// The largest bucket, so that all amounts fit.
const MAX_CAPACITY_UNITS: u64 = 1 << 29;

/// The share of the loss budget that drains the bucket, in sixths. The bucket must drain faster
/// than losses fill it that the limit does not prevent.
const DRAIN_SIXTHS: u64 = 4;

/// The share that lowers the limit, in sixths, while the bucket is empty and while it is not. In
/// equilibrium the losses are this share: a third of the budget is left for losses before the
/// limit has converged.
const FALL_SIXTHS: u64 = 4;
const FALL_UNPAID_SIXTHS: u64 = 2;

/// The limit and the bucket of losses that it did not follow.
#[derive(Debug, Clone, Default)]
pub(super) struct Balance {
    /// The loss budget of a sent unit.
    allowance: u64,
    limit: u64,
    /// Losses that the limit did not follow, at most `capacity`.
    bucket: u64,
    /// The size of the bucket. It grows with the units sent, because a new queue has saved nothing.
    capacity: u64,
    max_capacity: u64,
}

impl Balance {
    pub(super) fn new(allowance: u64) -> Self {
        Self {
            allowance,
            max_capacity: MAX_CAPACITY_UNITS << FRACTION_BITS,
            ..Self::default()
        }
    }

    /// The limit in units, at least one.
    pub(super) fn limit(&self) -> u32 {
        let units = (self.limit >> FRACTION_BITS) + 1;
        units.min(MAX_LIMIT.into()) as u32
    }

    pub(super) fn set_limit(&mut self, units: u32) {
        self.limit = u64::from(units.min(MAX_LIMIT)) << FRACTION_BITS;
    }

    /// Raises the limit to `units`, if it is lower.
    pub(super) fn raise_to(&mut self, units: u32) {
        self.limit = self.limit.max(u64::from(units) << FRACTION_BITS);
    }

    /// Returns `true` until a quarter of the largest bucket was saved.
    fn is_new(&self) -> bool {
        self.capacity < self.max_capacity / 4
    }

    /// Raises the limit for a loss of `amount`: immediately by a quarter at most, or by an eighth
    /// of an `object`. Only the overflow of the bucket raises it further, so that a single pause
    /// does not. A new queue has no bucket, and a loss at most doubles its limit. No limit above
    /// `max_units` has an effect.
    pub(super) fn lost(&mut self, amount: u64, object: u32, max_units: u32) {
        let object = u64::from(object.max(1)) << FRACTION_BITS;
        let raise = if self.is_new() {
            amount.min(self.limit.max(object))
        } else {
            let at_once = amount.min((object / 8).max(self.limit / 4));
            // Half of the bucket, so that it takes two events to overflow.
            self.bucket += (amount - at_once).min(self.capacity / 2);
            let overflow = self.bucket.saturating_sub(self.capacity);
            self.bucket -= overflow;
            at_once + overflow
        };
        let max = u64::from(max_units.min(MAX_LIMIT)) << FRACTION_BITS;
        self.limit = (self.limit + raise).min(max.max(self.limit));
    }

    /// Records `units` sent. They lower the limit if it stopped the sender in the meantime.
    pub(super) fn sent(&mut self, units: u64, was_blocked: bool) {
        let sixth = units * self.allowance / 6;
        let share = |sixths: u64| sixth * sixths;
        self.capacity = (self.capacity + share(DRAIN_SIXTHS)).min(self.max_capacity);
        if was_blocked {
            let fall = if self.bucket > 0 {
                FALL_UNPAID_SIXTHS
            } else {
                FALL_SIXTHS
            };
            self.limit = self.limit.saturating_sub(share(fall));
        }
        self.bucket = self.bucket.saturating_sub(share(DRAIN_SIXTHS));
    }

    /// The device sends `units_per_s`. The bucket is worth link time.
    pub(super) fn set_rate(&mut self, units_per_s: u64) {
        let link = u128::from(units_per_s) * u128::from(MEMORY_NS) / 1_000_000_000;
        let share = u128::from(self.allowance * DRAIN_SIXTHS / 6);
        let max = u128::from(MAX_CAPACITY_UNITS << FRACTION_BITS);
        self.max_capacity = (link * share).min(max) as u64;
        self.capacity = self.capacity.min(self.max_capacity);
    }

    /// The rate of the device fell from `before` to `after`: what was learnt is worth link time.
    pub(super) fn scale(&mut self, after: u64, before: u64) {
        let scaled = |amount: u64| {
            (u128::from(amount) * u128::from(after) / u128::from(before.max(1))) as u64
        };
        (self.limit, self.bucket) = (scaled(self.limit), scaled(self.bucket));
    }
}
