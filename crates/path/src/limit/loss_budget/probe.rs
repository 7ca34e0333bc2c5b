//! Probes: whether a higher limit makes the device faster, where cycles cannot show it.

use taut_dql::MAX_LIMIT;

use super::rate::Estimate;

/// The limit of a probe, in limits.
const FACTOR: u32 = 2;

/// Uncertain cycles between two probes, at most: a probe of 8 cycles then costs 0.2 % of the time.
const MAX_WAIT: u32 = 4_096;

/// Certain cycles shorten the wait down to this.
const CERTAIN_WAIT: u32 = 16;

/// A run of uncertain cycles that is this many times as long as the longest of late is a change.
const RUNS: u32 = 4;

/// A probe gains if the rate rises by more than this part of it: less is noise of the estimates.
const MIN_GAIN: u64 = 64;

/// A probe raises the limit for one estimate of the rate. While the rate rises, probe follows on
/// probe; otherwise the wait doubles.
#[derive(Debug, Clone)]
pub(super) struct LimitProbe {
    /// The limit of a probe that runs; 0 if none does.
    limit: u32,
    wait: u32,
    /// Uncertain cycles since the last probe.
    uncertain: u32,
    /// Uncertain cycles since the last certain one, and the longest run of late.
    run: u32,
    longest_run: u32,
    /// What could be in flight before the probe, and the rate then.
    units_before: u32,
    rate_before: u64,
}

/// What an estimate says about the probe that it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No probe ran.
    None,
    /// The rate rose: the limit should stay at this.
    Gained(u32),
    /// It did not.
    Nothing,
}

impl LimitProbe {
    pub(super) fn new() -> Self {
        Self {
            limit: 0,
            wait: 1,
            uncertain: 0,
            run: 0,
            longest_run: MAX_WAIT,
            units_before: 0,
            rate_before: 0,
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

    /// Counts a cycle under `limit`. Returns `true` if a probe begins.
    pub(super) fn cycle(&mut self, is_certain: bool, limit: u32, object: u32, rate: u64) -> bool {
        if is_certain {
            let faded = self.longest_run - self.longest_run.div_ceil(16);
            self.longest_run = faded.max(core::mem::take(&mut self.run));
            return false;
        }
        self.run = (self.run + 1).min(MAX_WAIT);
        if self.limit > 0 {
            return false;
        }
        self.uncertain += 1;
        let has_changed = self.run == CERTAIN_WAIT + RUNS * self.longest_run;
        let begins = self.uncertain >= self.wait || has_changed;
        if begins {
            self.uncertain = 0;
            self.units_before = limit.saturating_add(object);
            self.rate_before = rate;
            // At least one more object, or as many as before would be in flight.
            let higher = limit.saturating_mul(FACTOR).max(self.units_before);
            self.limit = higher.min(MAX_LIMIT);
        }
        begins
    }

    /// Ends the probe that runs with an estimate.
    pub(super) fn estimated(&mut self, estimate: &Estimate) -> Outcome {
        if estimate.is_certain {
            self.uncertain = 0;
            if self.wait > CERTAIN_WAIT {
                self.wait -= 1;
            }
        }
        let limit = core::mem::take(&mut self.limit);
        if limit == 0 {
            return Outcome::None;
        }
        if estimate.least_rate > self.rate_before + self.rate_before / MIN_GAIN {
            self.wait = 1;
            return Outcome::Gained(self.in_proportion(estimate.rate, limit));
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
