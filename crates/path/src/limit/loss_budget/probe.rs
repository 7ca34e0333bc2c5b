//! Probes: whether a higher limit makes the device faster, where cycles cannot show it.

use taut_dql::MAX_LIMIT;

use super::rate::{Estimate, Throughput};

/// The limit of a probe, in limits.
const FACTOR: u32 = 2;

/// Uncertain cycles between two probes, at most: a probe of 8 cycles then costs 0.2 % of the time.
const MAX_WAIT: u32 = 4_096;

/// Certain cycles shorten the wait down to this.
const CERTAIN_WAIT: u32 = 16;

/// A run of uncertain cycles that is this many times as long as the longest recent one is a change.
const RUNS: u32 = 4;

/// A probe gains if the rate rises by more than this part of it. A probe lasts until a
/// partially sent object is not a larger part of its units, unless the gain is clear earlier.
const MIN_GAIN: u64 = 64;

/// A probe raises the limit for some estimates of the rate. While the rate rises, probe follows on
/// probe; otherwise the wait doubles.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitProbe {
    /// The limit of a probe that runs; 0 if none does.
    limit: u32,
    wait: u32,
    /// Uncertain cycles since the last probe.
    uncertain: u32,
    /// Uncertain cycles since the last certain one, and the longest recent run.
    run: u32,
    longest_run: u32,
    /// What could be in flight before the probe, and the rate then.
    units_before: u32,
    rate_before: u64,
    /// Of the probe that runs.
    sent: Throughput,
}

/// What an estimate says about a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No probe runs, or its gain is not clear yet.
    None,
    /// The rate rose: the limit should stay at this.
    Gained(u32),
    /// It did not.
    Nothing,
}

impl LimitProbe {
    pub(super) fn new() -> Self {
        Self {
            wait: 1,
            longest_run: MAX_WAIT,
            ..Self::default()
        }
    }

    /// The limit of a probe that runs; 0 if none does.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// The device is faster than its known rate, so the next probe is due.
    pub(super) fn hasten(&mut self) {
        self.uncertain = self.uncertain.max(self.wait);
    }

    /// Counts a cycle. Returns `true` if a probe is due.
    pub(super) fn is_due(&mut self, is_certain: bool) -> bool {
        if self.limit > 0 {
            return false;
        }
        if is_certain {
            let faded = self.longest_run - self.longest_run.div_ceil(16);
            self.longest_run = faded.max(core::mem::take(&mut self.run));
            return false;
        }
        self.run = (self.run + 1).min(MAX_WAIT);
        self.uncertain += 1;
        let has_changed = self.run == CERTAIN_WAIT + RUNS * self.longest_run;
        self.uncertain >= self.wait || has_changed
    }

    /// Begins a probe above `limit`, with the rate so far.
    pub(super) fn begin(&mut self, limit: u32, object: u32, rate: u64) {
        self.uncertain = 0;
        self.units_before = limit.saturating_add(object);
        self.rate_before = rate;
        self.sent = Throughput::default();
        // At least one more object, or as many as before would be in flight.
        let higher = limit.saturating_mul(FACTOR).max(self.units_before);
        self.limit = higher.min(MAX_LIMIT);
    }

    /// Adds an estimate, which can end the probe that runs.
    pub(super) fn estimated(&mut self, estimate: &Estimate) -> Outcome {
        if self.limit == 0 {
            if estimate.is_certain {
                self.uncertain = 0;
                if self.wait > CERTAIN_WAIT {
                    self.wait -= 1;
                }
            }
            return Outcome::None;
        }
        self.sent.add(estimate.sent.units, estimate.sent.span_ns);
        // An object that was sent in part is not a gain.
        let partial_units = u64::from(estimate.partial_units);
        let is_exact = self.sent.units >= MIN_GAIN * partial_units;
        let certain = Throughput {
            units: self.sent.units.saturating_sub(partial_units),
            ..self.sent
        };
        let rate = if is_exact {
            self.sent.rate()
        } else {
            certain.rate()
        };
        let has_gained = rate > self.rate_before + self.rate_before / MIN_GAIN;
        if !has_gained && !is_exact {
            return Outcome::None;
        }
        let limit = core::mem::take(&mut self.limit);
        if has_gained {
            self.wait = 1;
            return Outcome::Gained(self.in_proportion(rate, limit));
        }
        self.wait = (self.wait * 2).clamp(8, MAX_WAIT);
        Outcome::Nothing
    }

    /// The limit that the gain needs: a higher one did not make the device faster.
    fn in_proportion(&self, rate: u64, max: u32) -> u32 {
        let units = u128::from(self.units_before) * u128::from(rate);
        units
            .checked_div(self.rate_before.into())
            .map_or(max, |units| units.min(max.into()) as u32)
    }
}
