//! A rule with a time cap: it admits at most what the link sends in a given time.
//!
//! A limit that is measured from completions includes their delay: with a thread that polls every
//! 10 ms, 10 ms of the link must be in flight, or the link runs dry. Only the user can decide
//! whether the last per cent of utilisation is worth this latency.

use core::fmt;

use taut_dql::{Config, Error, MAX_LIMIT};

use super::{CompletionBatch, Limit, Needs, Unit};
use crate::units::Time;

/// The allowed caps, in ns: an object at 10 Gbit/s takes 1.2 us, and a queue of more than 10 s is
/// useless.
pub const TIME_CAP_NS: core::ops::RangeInclusive<u64> = 1_000..=10_000_000_000;

/// Interval at which the cap is lifted for one batch while it lets the device run dry. A probe
/// costs a hundredth of the saving, and measures the current rate.
const PROBE_NS: u64 = 100_000_000;

/// A rule whose limit is at most what the link sends in a given time.
///
/// The queue measures the rate; without a rate there is no cap. If completions are reported less
/// often than once per cap, the link is not kept busy. This is intended, unless
/// [`with_floor`](Self::with_floor) sets a minimum. While the cap lets the device run dry, it is
/// lifted for one batch every 100 ms, to measure the rate. A lower limit of the rule stays in
/// effect.
#[derive(Debug, Clone)]
pub struct TimeCapped<L> {
    rule: L,
    cap_ns: u64,
    floor: u32,
    /// Units that the link sends in the time; above any limit while the rate is unknown.
    cap: u32,
    /// Time since which the cap might have let the device run dry.
    dry_since_ns: Option<u64>,
    times_blocked: u32,
    /// The cap is lifted until the next batch.
    probes: bool,
}

impl<L: Limit> TimeCapped<L> {
    /// Wraps `rule` with a cap of `cap_ns`, clamped to [`TIME_CAP_NS`].
    pub fn new(rule: L, cap_ns: u64) -> Self {
        Self {
            rule,
            cap_ns: cap_ns.clamp(*TIME_CAP_NS.start(), *TIME_CAP_NS.end()),
            floor: 0,
            cap: MAX_LIMIT,
            dry_since_ns: None,
            times_blocked: 0,
            probes: false,
        }
    }

    /// Sets a minimum of the cap, in units of the rule. On a slow link the cap can be the time of
    /// one or two objects, and the link would run dry each time the sender is woken late.
    #[must_use]
    pub fn with_floor(mut self, floor: u32) -> Self {
        self.floor = floor;
        self
    }

    /// Returns `true` if the cap must be lifted for one batch: it blocked the sender, and the
    /// device ran dry.
    fn must_probe(&mut self, batch: &CompletionBatch) -> bool {
        let blocked =
            core::mem::replace(&mut self.times_blocked, batch.times_blocked) != batch.times_blocked;
        let ran_dry = batch.units >= batch.in_flight;
        let is_capped = self.rule.limit() > self.cap;
        if !(blocked && ran_dry && is_capped) {
            self.dry_since_ns = None;
            return false;
        }
        let since_ns = *self.dry_since_ns.get_or_insert(batch.now_ns);
        let due = batch.now_ns.saturating_sub(since_ns) >= PROBE_NS;
        if due {
            self.dry_since_ns = Some(batch.now_ns);
        }
        due
    }
}

impl<L: Limit> Limit for TimeCapped<L> {
    fn unit(&self) -> Unit {
        self.rule.unit()
    }

    fn begin(&mut self, now_ns: u64) {
        self.rule.begin(now_ns);
    }

    fn limit(&self) -> u32 {
        if self.probes {
            self.rule.limit()
        } else {
            self.rule.limit().min(self.cap)
        }
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        // A limit above the cap has an effect only in a probe.
        let ring_units = batch.ring_units.min(self.cap.saturating_mul(2));
        self.rule.completed(&CompletionBatch {
            ring_units,
            ..*batch
        });
        if batch.rate_per_s > 0 {
            let cap = u128::from(batch.rate_per_s) * u128::from(self.cap_ns) / 1_000_000_000;
            let cap = u32::try_from(cap).unwrap_or(MAX_LIMIT);
            self.cap = cap.max(self.floor).min(MAX_LIMIT);
        }
        self.probes = self.must_probe(batch);
        self.limit()
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            rate: true,
            ..self.rule.needs()
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.rule.reset(now_ns);
        // The rate might be unknown now; if not, the next batch contains it.
        self.cap = MAX_LIMIT;
        (self.dry_since_ns, self.times_blocked, self.probes) = (None, 0, false);
    }

    fn config(&self) -> Config {
        let config = self.rule.config();
        let displayed_above = config.limit.saturating_sub(self.rule.limit());
        Config {
            limit: self.limit().saturating_add(displayed_above).min(MAX_LIMIT),
            ..config
        }
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        // A limit that was read under the cap is not a request for a lower limit of the rule.
        let limit = if config.limit == self.config().limit {
            self.rule.config().limit
        } else {
            config.limit
        };
        self.rule.set_config(Config { limit, ..config })
    }
}

impl<L: fmt::Display> fmt::Display for TimeCapped<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.rule, Time(self.cap_ns))
    }
}
