//! Measures how fast a device sends, from the completions that it reports anyway.
//!
//! An interval between two completion batches gives the rate if the device was busy throughout. The
//! device was busy if something was in flight after the first batch, and still is after the second.
//! An interval at whose end the device was idle still gives a lower bound. Such an interval can
//! only raise the rate, so a limit that lets the device run dry does not lower the rate that it is
//! derived from. While there is nothing to send, the rate stays.

/// Busy time of a sample: far longer than the noise of a clock and of a late thread, and short
/// enough to follow a radio link.
const SAMPLE_NS: u64 = 4_000_000;
/// Minimum number of objects of a sample: each end of it is wrong by one.
const SAMPLE_OBJECTS: u64 = 16;
/// The weight of a new sample in the rate is the inverse: a change by a factor of ten is followed
/// to within a tenth in nine samples.
const NEW_SHARE: u64 = 4;

const NS_PER_S: u64 = 1_000_000_000;

/// A completion batch, as passed to a rate meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// The time of the batch, in ns.
    pub now_ns: u64,
    /// Units completed.
    pub units: u32,
    /// Units still in flight after it.
    pub in_flight: u32,
    /// Size of a typical object, in units, such as that of the last.
    pub object: u32,
}

/// Measures the rate of a device, in units per second, from completion batches.
///
/// ```
/// use taut_dql::rate::{RateMeter, RateSample};
///
/// let mut meter = RateMeter::new();
/// for batch in 0..100 {
///     // 12,500 bytes per millisecond, with units in flight after each batch.
///     let now_ns = batch * 1_000_000;
///     meter.record(RateSample { now_ns, units: 12_500, in_flight: 5_000, object: 500 });
/// }
/// assert_eq!(meter.units_per_s(), 12_500_000);
/// ```
#[derive(Debug, Clone, Default)]
pub struct RateMeter {
    /// 0: unknown.
    units_per_s: u64,
    /// While the rate is unknown: the largest lower bound that was seen.
    min_units_per_s: u64,
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
        // A clock that is wrong makes a meaningless sum, but never one that wraps.
        self.ns = self.ns.saturating_add(ns);
    }

    /// Returns the rate once there is enough for a sample, and starts the next one.
    fn take(&mut self, object: u32) -> Option<u64> {
        let enough_units = SAMPLE_OBJECTS * u64::from(object.max(1));
        if self.ns < SAMPLE_NS || self.units < enough_units {
            return None;
        }
        let sum = core::mem::take(self);
        Some(units_per_s(sum.units, sum.ns))
    }
}

/// At least 1: a device that completes anything has a rate.
fn units_per_s(units: u64, ns: u64) -> u64 {
    let rate = u128::from(units) * u128::from(NS_PER_S) / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).max(1)
}

impl RateMeter {
    /// A meter that has measured nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rate, in units per second; 0 until 4 ms and 16 objects of a busy device were measured.
    pub const fn units_per_s(&self) -> u64 {
        self.units_per_s
    }

    /// A lower bound of the rate, in units per second. For a device that was never seen busy, it is
    /// derived from its completions; 0 until 4 ms and 16 objects were measured.
    pub fn min_units_per_s(&self) -> u64 {
        self.units_per_s.max(self.min_units_per_s)
    }

    /// Units that the device sends in `time_ns`; `None` while the rate is unknown.
    pub fn units_in(&self, time_ns: u64) -> Option<u32> {
        if self.units_per_s == 0 {
            return None;
        }
        let units = u128::from(self.units_per_s) * u128::from(time_ns) / u128::from(NS_PER_S);
        Some(u32::try_from(units).unwrap_or(u32::MAX))
    }

    /// Records a completion batch.
    pub fn record(&mut self, sample: RateSample) {
        let now = (sample.now_ns, sample.in_flight);
        let Some((since_ns, was_left)) = self.last.replace(now) else {
            return;
        };
        let ns = sample.now_ns.saturating_sub(since_ns);
        self.all.add(sample.units, ns);
        if self.was_busy(was_left, sample, ns) {
            self.busy.add(sample.units, ns);
            if let Some(rate) = self.busy.take(sample.object) {
                // A measured rate replaces the lower bound.
                self.all = Sum::default();
                self.min_units_per_s = 0;
                self.blend(rate);
            }
        }
        self.raise_to_bound(sample.object);
    }

    /// Returns `true` if the device had something to send throughout the interval. Units completed
    /// beyond those that it had might have been queued after it ran dry: then the interval must at
    /// least be about as fast as the known rate.
    fn was_busy(&self, was_left: u32, sample: RateSample, ns: u64) -> bool {
        was_left > 0
            && sample.in_flight > 0
            && (sample.units <= was_left
                || units_per_s(sample.units.into(), ns) >= self.units_per_s / 2)
    }

    fn blend(&mut self, rate: u64) {
        self.units_per_s = match self.units_per_s {
            0 => rate,
            known => known - known / NEW_SHARE + rate / NEW_SHARE,
        };
    }

    /// Raises the rate to the lower bound: units that the device certainly sent in the interval.
    fn raise_to_bound(&mut self, object: u32) {
        // The object that was under way at the start completed in this time, but was only partly
        // sent in it.
        let units = self.all.units.saturating_sub(object.into());
        let ns = self.all.ns;
        if self.all.take(object).is_some() {
            let known = match self.units_per_s {
                0 => &mut self.min_units_per_s,
                _ => &mut self.units_per_s,
            };
            *known = units_per_s(units, ns).max(*known);
        }
    }

    /// Forgets the units in flight. The rate stays.
    pub fn reset(&mut self) {
        *self = Self {
            units_per_s: self.units_per_s,
            min_units_per_s: self.min_units_per_s,
            ..Self::new()
        };
    }
}
