//! The loss budget: each lost byte raises the limit by a byte, and each sent byte lowers it. A
//! byte is *lost* if the link could have sent it while the limit blocked the sender.
//!
//! A limit that is never too low is a bad limit: one gap of 1 ms among thousands of 100 us makes
//! each packet wait ten times longer, and saves less than a thousandth of the link's time. With a
//! target utilisation of 99.9 %, 0.1 % of the bytes may be lost. So each byte that the device lost
//! by starvation raises the limit by a byte, and each sent byte lowers it by a share of
//! 0.1 %. In equilibrium the losses are that share.
//!
//! ```text
//!   batches --> cycle --> rate --> level --> loss --> balance --> limit
//!                           ^------- probe ------------------------^
//! ```
//!
//! - The **level** is what the device has left to send. A blocked sender that returns to a level
//!   below 0 lost that much.
//! - The **rate** is a lower bound, measured over whole **cycles**. Where cycles cannot show
//!   whether the device was idle, a **probe** doubles the limit for a time.
//! - The **balance** raises the limit for a loss by a quarter at most. The rest goes into a bucket
//!   that sent bytes drain, and only its overflow raises the limit: one pause does not.

mod balance;
mod cycle;
mod level;
mod probe;
mod rate;

use core::fmt;

use taut_dql::{Config, Error, MAX_LIMIT};

use super::named::{BuiltinLimit, LimitInfo};
use super::utilisation::{ParseUtilisationError, Utilisation};
use super::{CompletionBatch, Limit, Needs};
use balance::{Balance, FRACTION_BITS};
use cycle::{Cycle, MAX_PAUSE_NS};
use level::{Level, MAX_LATENCY_NS};
use probe::{LimitProbe, Outcome};
use rate::Rate;

/// The rule that is called `taut`: the lowest limit that keeps the link busy for a share of the
/// time in which a sender has something to send.
///
/// The remaining share is the loss budget. *Loss* is link time during which the limit blocked the
/// sender and the device ran dry; no packet is lost.
#[derive(Debug, Clone)]
pub struct LossBudget {
    config: Config,
    /// The target that was set.
    target: Option<Utilisation>,
    balance: Balance,
    level: Level,
    rate: Rate,
    cycle: Cycle,
    probe: LimitProbe,
    interval: Interval,
}

/// What happened since the last reap that ended, and the batch before.
#[derive(Debug, Clone, Default)]
struct Interval {
    /// When that reap ended.
    start_ns: u64,
    /// Units completed since.
    units: u64,
    /// Units in flight after the last batch.
    left: u32,
    /// The sender has queued something since.
    has_returned: bool,
    /// The limit stopped the sender, which has not queued anything since.
    blocked: bool,
    times_blocked: u32,
    more_pending: bool,
    /// The largest recent object; it fades.
    object: u32,
    ring_units: u32,
    /// The device was expected to have this much left when it had nothing, with fraction bits.
    surplus: i64,
}

impl Interval {
    fn begin(left: u32, times_blocked: u32, now_ns: u64) -> Self {
        Self {
            start_ns: now_ns,
            left,
            times_blocked,
            ring_units: u32::MAX,
            ..Self::default()
        }
    }
}

impl LossBudget {
    /// A rule with a target utilisation.
    pub fn new(utilisation: Utilisation) -> Self {
        Self::with(Some(utilisation))
    }

    fn with(target: Option<Utilisation>) -> Self {
        let utilisation = target.unwrap_or_default();
        Self {
            config: Config::default(),
            target,
            balance: Balance::new(utilisation.allowance(FRACTION_BITS)),
            level: Level::default(),
            rate: Rate::default(),
            cycle: Cycle::default(),
            probe: LimitProbe::new(),
            interval: Interval::default(),
        }
    }

    fn bounded(&self) -> u32 {
        (self.balance.limit())
            .max(self.probe.limit())
            .min(self.interval.ring_units)
            .max(self.config.min_limit)
            .min(self.config.max_limit)
    }

    /// The device lost this much, with fraction bits.
    fn lost(&mut self, amount: u64) {
        let object = self.interval.object;
        // A higher limit would bridge more than the latency and the longest pause.
        let latency_ns = self.cycle.first_batch_ns - self.cycle.returned_ns;
        let latency_ns = latency_ns.min(MAX_LATENCY_NS);
        let useful = self.rate.sends(latency_ns + MAX_PAUSE_NS) >> FRACTION_BITS;
        // The next sent bytes lower the limit, so it may rise an object above the ring.
        let ring_units = self.interval.ring_units.saturating_add(object);
        let max_units = ring_units
            .min(self.config.max_limit)
            .min(useful.clamp(0, MAX_LIMIT.into()) as u32);
        self.balance.lost(amount, object, max_units);
    }

    /// Restarts with `left` units in flight, and keeps the limit and the rate.
    fn restart_interval(&mut self, left: u32, times_blocked: u32, now_ns: u64) {
        self.level = Level::at(left, now_ns);
        self.cycle = Cycle::default();
        self.rate.restart_window(now_ns);
        self.interval = Interval {
            object: self.interval.object,
            ..Interval::begin(left, times_blocked, now_ns)
        };
    }

    /// The sender queued something before `batch`.
    fn refill(&mut self, batch: &CompletionBatch) {
        let left = self.interval.left;
        let returned_ns = batch.sender_returned_ns.unwrap_or(batch.now_ns);
        let returned_ns = returned_ns.min(batch.now_ns).max(self.level.at_ns());
        let queued = batch.in_flight - left;
        let lost = self.level.refill(&self.rate, returned_ns, left, queued);
        if self.interval.blocked && lost > 0 {
            self.lost(lost);
        }
        if !self.interval.has_returned {
            // What was queued before a probe is of no probe.
            let is_old = self.measure();
            self.cycle = Cycle {
                start_ns: self.interval.start_ns,
                old_units: self.interval.units + u64::from(left),
                start_blocked: self.interval.blocked,
                is_measurable: !is_old,
                returned_ns,
                first_batch_ns: batch.now_ns,
                first_in_flight: batch.in_flight,
                units: 0,
            };
            self.interval.has_returned = true;
        }
        self.interval.blocked = false;
    }

    /// Measures the cycle that ended. Returns `true` if a probe begins.
    fn measure(&mut self) -> bool {
        let Interval {
            start_ns: end_ns,
            left,
            object,
            surplus,
            ..
        } = self.interval;
        if !self.interval.blocked {
            return false;
        }
        let Some(sample) = self.cycle.sample(end_ns, left, object) else {
            return false;
        };
        if surplus > (sample.units << (FRACTION_BITS - 2)) as i64 {
            self.probe.hasten();
            self.rate.shorten_estimates();
        }
        if let Some(estimate) = self.rate.add(&sample, end_ns) {
            self.estimated(&estimate, end_ns);
        }
        let begins = self.probe.is_due(sample.is_certain);
        if begins {
            (self.probe).begin(self.bounded(), object, self.rate.rate());
            self.rate.restart_estimate();
        }
        begins
    }

    fn estimated(&mut self, estimate: &rate::Estimate, now_ns: u64) {
        self.balance.set_rate(self.rate.units_per_s());
        if let Some((after, before)) = estimate.fall {
            self.balance.scale(after, before);
        }
        match self.probe.estimated(estimate) {
            Outcome::Gained(limit) => {
                self.balance.raise_to(limit);
                self.rate.shorten_estimates();
            }
            Outcome::Nothing if !estimate.is_certain && !estimate.has_long_pause => {
                self.rate.renew_window(now_ns);
            }
            Outcome::Nothing | Outcome::None => {}
        }
    }

    /// A reap ended.
    fn end(&mut self, now_ns: u64) {
        let Interval { left, object, .. } = self.interval;
        let expected = self.level.correct(&self.rate, now_ns, left, object);
        self.interval.surplus = if left > 0 { 0 } else { expected };
        let units = core::mem::take(&mut self.interval.units);
        self.cycle.units += units;
        self.balance.sent(units, self.interval.blocked);
        (self.interval.start_ns, self.interval.has_returned) = (now_ns, false);
        if left == 0 {
            // No batch can follow before the sender's return, so the cycle has ended. A probe that
            // begins now is in force for that return.
            self.measure();
            self.cycle.is_measurable = false;
        }
    }
}

impl Default for LossBudget {
    /// A target of [`Utilisation::DEFAULT`].
    fn default() -> Self {
        Self::with(None)
    }
}

impl Limit for LossBudget {
    fn begin(&mut self, now_ns: u64) {
        *self = Self {
            config: self.config,
            level: Level::at(0, now_ns),
            rate: Rate::new(now_ns),
            interval: Interval::begin(0, 0, now_ns),
            ..Self::with(self.target)
        };
    }

    fn limit(&self) -> u32 {
        self.config.limit
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        let left = batch.in_flight - batch.units;
        if batch.now_ns < self.level.at_ns() {
            // The clock went back: nothing that began can be measured.
            self.restart_interval(left, batch.times_blocked, batch.now_ns);
            return self.config.limit;
        }
        if batch.units == 0 && !self.interval.more_pending {
            return self.config.limit;
        }
        self.interval.ring_units = batch.ring_units;
        // The object queued last is the one that crossed the limit, so a large one is seen only now
        // and then: it fades.
        let object = self.interval.object;
        self.interval.object = (object - (object >> 6)).max(batch.last_object);
        if batch.in_flight > self.interval.left {
            self.refill(batch);
        }
        let before = core::mem::replace(&mut self.interval.times_blocked, batch.times_blocked);
        self.interval.blocked |= before != batch.times_blocked;
        self.interval.units += u64::from(batch.units);
        self.interval.left = left;
        self.interval.more_pending = batch.more_pending;
        if !batch.more_pending {
            self.end(batch.now_ns);
        }
        self.config.limit = self.bounded();
        self.config.limit
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            return_time: true,
            rate: false,
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.config.limit = self.config.min_limit;
        self.begin(now_ns);
    }

    fn repair(&mut self, in_flight: u32, now_ns: u64) {
        self.restart_interval(in_flight, 0, now_ns);
    }

    fn config(&self) -> Config {
        self.config
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        config.validate()?;
        if config.limit != self.config.limit {
            self.balance.set_limit(config.limit);
        }
        self.config = config;
        Ok(())
    }
}

impl fmt::Display for LossBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Some(utilisation) => write!(f, "taut:{utilisation}"),
            None => f.write_str("taut"),
        }
    }
}

impl BuiltinLimit for LossBudget {
    const INFO: LimitInfo = LimitInfo {
        name: "taut",
        usage: "taut[:SHARE%]",
        help: "the lowest limit that keeps the link busy for a share of the time \
               (99.9% if not set)",
        adapts: true,
    };

    fn with_argument(argument: &str) -> Option<Result<Self, ParseUtilisationError>> {
        Some(argument.parse().map(Self::new))
    }
}
