//! A rule that never holds more than the link sends in a time.
//!
//! A rule that is learnt from completions learns how late they are told, too: with a thread that comes
//! back every 10 ms, 10 ms of the link must be in flight, or it runs dry. Whether the last per cent of
//! the link is worth that wait only the user can say.

use core::fmt;

use taut_dql::{Config, Error, MAX_LIMIT};

use super::named::NamedLimit;
use super::utilisation::Utilisation;
use super::{CompletionBatch, Limit, Needs, Unit};
use crate::units::write_time;

/// The shortest and the longest cap: an object at 10 Gbit/s takes 1.2 us, and nobody waits for longer
/// than 10 s.
pub const TIME_CAP_NS: core::ops::RangeInclusive<u64> = 1_000..=10_000_000_000;

/// How often the cap is lifted for an interval while it lets the device run dry: that costs a hundredth
/// of what it saves, and shows how fast the device has become.
const PROBE_NS: u64 = 100_000_000;

/// A rule under a cap in time.
///
/// The rate is measured by the queue; while it is not known there is no cap. Where completions are
/// told less often than once in the time, the link cannot be kept busy: that is what was asked for,
/// unless [`with_floor`](Self::with_floor) says otherwise. A rule that is lower stays so.
#[derive(Debug, Clone)]
pub struct TimeCapped<L> {
    rule: L,
    cap_ns: u64,
    least: u32,
    /// What the link sends in the time; more than any limit while that is not known.
    cap: u32,
    /// Since when the cap may have let the device run dry, if it did.
    dry_since_ns: Option<u64>,
    refusals: u32,
    /// The cap is lifted until the next round.
    probes: bool,
}

impl<L: Limit> TimeCapped<L> {
    /// The rule, with no more than the link sends in `cap_ns`, which is brought into [`TIME_CAP_NS`].
    pub fn new(rule: L, cap_ns: u64) -> Self {
        Self {
            rule,
            cap_ns: cap_ns.clamp(*TIME_CAP_NS.start(), *TIME_CAP_NS.end()),
            least: 0,
            cap: MAX_LIMIT,
            dry_since_ns: None,
            refusals: 0,
            probes: false,
        }
    }

    /// The cap is never below `least`, in units of the rule: on a slow link the time may be an object or
    /// two, and a sender that is woken late would then let the link run dry each time.
    #[must_use]
    pub fn with_floor(mut self, least: u32) -> Self {
        self.least = least;
        self
    }

    /// The cap, in ns.
    pub fn cap_ns(&self) -> u64 {
        self.cap_ns
    }

    /// Whether to lift the cap for an interval: it held the sender back, and the device ran dry.
    fn must_probe(&mut self, round: &CompletionBatch) -> bool {
        let refused =
            core::mem::replace(&mut self.refusals, round.times_blocked) != round.times_blocked;
        let ran_dry = round.units >= round.in_flight;
        let is_capped = self.rule.limit() > self.cap;
        if !(refused && ran_dry && is_capped) {
            self.dry_since_ns = None;
            return false;
        }
        let since_ns = *self.dry_since_ns.get_or_insert(round.now_ns);
        let due = round.now_ns.saturating_sub(since_ns) >= PROBE_NS;
        if due {
            self.dry_since_ns = Some(round.now_ns);
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

    fn completed(&mut self, round: &CompletionBatch) -> u32 {
        // A limit above the cap has an effect only in a probe.
        let ring_units = round.ring_units.min(self.cap.saturating_mul(2));
        self.rule.completed(&CompletionBatch {
            ring_units,
            ..*round
        });
        if round.rate_per_s > 0 {
            let cap = u128::from(round.rate_per_s) * u128::from(self.cap_ns) / 1_000_000_000;
            let cap = u32::try_from(cap).unwrap_or(MAX_LIMIT);
            self.cap = cap.max(self.least).min(MAX_LIMIT);
        }
        self.probes = self.must_probe(round);
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
        // The rate may not be known any more; if it is, the next round says so.
        self.cap = MAX_LIMIT;
        (self.dry_since_ns, self.refusals, self.probes) = (None, 0, false);
    }

    fn config(&self) -> Config {
        let config = self.rule.config();
        let shown_above = config.limit.saturating_sub(self.rule.limit());
        Config {
            limit: self.limit().saturating_add(shown_above).min(MAX_LIMIT),
            ..config
        }
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        // What was read under the cap is no wish for a lower rule.
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
        write!(f, "{}:", self.rule)?;
        write_time(f, self.cap_ns)
    }
}

impl<L: NamedLimit + Clone + 'static> NamedLimit for TimeCapped<L> {
    fn set_default_target(&mut self, utilisation: Utilisation) {
        self.rule.set_default_target(utilisation);
    }
}
