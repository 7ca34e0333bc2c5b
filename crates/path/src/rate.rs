//! How fast a device sends, found from the completions that it gives anyway.
//!
//! An interval between two rounds of completions says it if the device had something to send all the
//! time. Whether it had is seen at both ends: something was in flight after the first round, and
//! something is after the second. An interval that ran dry still says that the device is *at least* so
//! fast. Such intervals can only raise the rate, so that a limit which lets the device run dry does not
//! lower the rate that it is made of. With nothing to send, the rate stays.

/// Busy time for a sample: far longer than the noise of a clock and of a late thread, and short enough
/// to follow a radio link.
const SAMPLE_NS: u64 = 4_000_000;
/// Objects for a sample at least: each end of it is wrong by one.
const SAMPLE_OBJECTS: u64 = 16;
/// The share of a new sample in the rate: a change by ten is followed to within a tenth in nine samples.
const NEW_SHARE: u64 = 4;

const NS_PER_S: u64 = 1_000_000_000;

/// What one round of completions says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRound {
    /// When, in ns.
    pub now_ns: u64,
    /// Units that finished.
    pub units: u32,
    /// Units still in flight after it.
    pub left: u32,
    /// Units of an object, such as the last.
    pub object: u32,
}

/// Measures the rate of a device, in units a second, from rounds of completions.
///
/// ```
/// use taut_path::rate::{RateMeter, RateRound};
///
/// let mut meter = RateMeter::new();
/// for round in 0..100 {
///     // 12,500 bytes each millisecond, and always something left.
///     meter.round(RateRound { now_ns: round * 1_000_000, units: 12_500, left: 5_000, object: 500 });
/// }
/// assert_eq!(meter.units_per_s(), 12_500_000);
/// ```
#[derive(Debug, Clone, Default)]
pub struct RateMeter {
    /// 0: not known.
    units_per_s: u64,
    /// While it is not known: at least so much was seen to finish.
    least_units_per_s: u64,
    last: Option<(u64, u32)>,
    /// Intervals in which the device was busy, and all of them.
    busy: Sum,
    all: Sum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    units: u64,
    ns: u64,
}

impl Sum {
    fn add(&mut self, units: u32, ns: u64) {
        self.units = self.units.saturating_add(units.into());
        // A clock that is wrong makes a sum that says nothing, never one that wraps.
        self.ns = self.ns.saturating_add(ns);
    }

    /// The rate, once there is enough of it for one; it begins anew then.
    fn take(&mut self, object: u32) -> Option<u64> {
        let enough_units = SAMPLE_OBJECTS * u64::from(object.max(1));
        if self.ns < SAMPLE_NS || self.units < enough_units {
            return None;
        }
        let sum = core::mem::take(self);
        Some(units_per_s(sum.units, sum.ns))
    }
}

/// At least 1: a device that finishes anything has a rate.
fn units_per_s(units: u64, ns: u64) -> u64 {
    let rate = u128::from(units) * u128::from(NS_PER_S) / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).max(1)
}

impl RateMeter {
    /// Nothing measured yet.
    pub const fn new() -> Self {
        Self {
            units_per_s: 0,
            least_units_per_s: 0,
            last: None,
            busy: Sum { units: 0, ns: 0 },
            all: Sum { units: 0, ns: 0 },
        }
    }

    /// The rate, in units a second; 0 while it is not known.
    pub const fn units_per_s(&self) -> u64 {
        self.units_per_s
    }

    /// What the rate is at least, in units a second: of a device that was never seen busy, what it finished
    /// all the same; 0 before that.
    pub fn at_least_units_per_s(&self) -> u64 {
        self.units_per_s.max(self.least_units_per_s)
    }

    /// Units that the device sends in `time_ns`; `None` while the rate is not known.
    pub fn units_in(&self, time_ns: u64) -> Option<u32> {
        if self.units_per_s == 0 {
            return None;
        }
        let units = u128::from(self.units_per_s) * u128::from(time_ns) / u128::from(NS_PER_S);
        Some(u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// The device finished something.
    pub fn round(&mut self, round: RateRound) {
        let now = (round.now_ns, round.left);
        let Some((since_ns, was_left)) = self.last.replace(now) else {
            return;
        };
        let ns = round.now_ns.saturating_sub(since_ns);
        self.all.add(round.units, ns);
        if self.was_busy(was_left, round, ns) {
            self.busy.add(round.units, ns);
            if let Some(sample) = self.busy.take(round.object) {
                // What is known for certain is no news as a bound.
                self.all = Sum::default();
                self.least_units_per_s = 0;
                self.blend(sample);
            }
        }
        self.bound(round.object);
    }

    /// Whether the device had something to send all the time. What it finished beyond what it had may
    /// have come late, after it ran dry: then it must at least look like the rate that is known.
    fn was_busy(&self, was_left: u32, round: RateRound, ns: u64) -> bool {
        was_left > 0
            && round.left > 0
            && (round.units <= was_left
                || units_per_s(round.units.into(), ns) >= self.units_per_s / 2)
    }

    fn blend(&mut self, sample: u64) {
        self.units_per_s = match self.units_per_s {
            0 => sample,
            rate => rate - rate / NEW_SHARE + sample / NEW_SHARE,
        };
    }

    /// Raises the rate to what was finished for certain in the time.
    fn bound(&mut self, object: u32) {
        // The object that was on its way at the start finished in this time and was not all sent in it.
        let units = self.all.units.saturating_sub(object.into());
        let ns = self.all.ns;
        if self.all.take(object).is_some() {
            let known = match self.units_per_s {
                0 => &mut self.least_units_per_s,
                _ => &mut self.units_per_s,
            };
            *known = units_per_s(units, ns).max(*known);
        }
    }

    /// What was in flight is forgotten; the rate stays.
    pub fn reset(&mut self) {
        *self = Self {
            units_per_s: self.units_per_s,
            least_units_per_s: self.least_units_per_s,
            ..Self::new()
        };
    }
}
