//! Probes: whether a higher limit makes the device faster, where cycles cannot tell.

use taut_dql::MAX_LIMIT;

use super::rate::Estimate;

/// Uncertain cycles between two probes, at most: a probe of 8 cycles then costs 0.2 % of the time.
const MAX_WAIT: u32 = 4_096;

/// Certain cycles shorten the wait down to this.
const CERTAIN_WAIT: u32 = 16;

/// A probe doubles the limit for one estimate of the rate. While the rate rises, probe follows on
/// probe; otherwise the wait doubles.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    /// The limit of a probe that runs; 0 if none does.
    limit: u32,
    wait: u32,
    uncertain: u32,
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

impl Probe {
    pub(super) fn new() -> Self {
        Self {
            limit: 0,
            wait: 1,
            uncertain: 0,
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

    /// Counts a cycle. Returns `true` if a probe begins, with twice `limit` or one `object`.
    pub(super) fn cycle(&mut self, is_certain: bool, limit: u32, object: u32, rate: u64) -> bool {
        if is_certain || self.limit > 0 {
            return false;
        }
        self.uncertain += 1;
        let begins = self.uncertain >= self.wait;
        if begins {
            self.limit = limit.saturating_mul(2).max(object).min(MAX_LIMIT);
            self.uncertain = 0;
            self.rate_before = rate;
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
        // A sixteenth more: less is noise of the estimates.
        if estimate.rate > self.rate_before + self.rate_before / 16 {
            self.wait = 1;
            return Outcome::Gained(limit);
        }
        self.wait = (self.wait * 2).clamp(8, MAX_WAIT);
        Outcome::Nothing
    }
}
