//! Values over time, weighted by their duration.

use hdrhistogram::Histogram;

/// Values are exact to a thousandth.
const DIGITS: u8 = 3;

/// Values are clamped to this maximum: more than a limit can be.
const LARGEST: u64 = u32::MAX as u64 / 2;

/// Times are clamped to an hour, longer than any delay in a run of minutes.
const MAX_NS: u64 = 3_600_000_000_000;

/// Returns an empty histogram for bytes or other units of a limit.
pub fn histogram_bytes() -> Histogram<u64> {
    histogram(LARGEST)
}

/// Returns an empty histogram for times, in ns. It has the buckets of [`histogram_bytes`], and more
/// above them.
pub fn histogram_ns() -> Histogram<u64> {
    histogram(MAX_NS)
}

fn histogram(largest: u64) -> Histogram<u64> {
    Histogram::new_with_max(largest, DIGITS).expect("valid constants")
}

/// Values up to twice this are exact, larger ones to a thousandth. These are the buckets of
/// [`histogram_bytes`], so that both have equal results.
const STEPS_LOG2: u32 = 10;

/// The measured part of the time.
pub trait Window {
    /// Everything from [`begins_ns`](Self::begins_ns) on is measured: two adjacent spans give the
    /// same result as one.
    const STEADY: bool = false;

    /// Returns the start of the measurement, in ns.
    fn begins_ns(&self) -> u64 {
        0
    }

    /// Returns the measured part of the time from `since_ns` to `now_ns`, in ns. Requires
    /// `begins_ns() <= since_ns <= now_ns`.
    fn measured_ns(&self, since_ns: u64, now_ns: u64) -> u64 {
        now_ns - since_ns
    }

    /// Called with the bytes in the ring after each change.
    fn in_flight_changed(&mut self, _bytes: u64) {}
}

/// Everything from this time on, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since(pub u64);

impl Window for Since {
    const STEADY: bool = true;

    fn begins_ns(&self) -> u64 {
        self.0
    }
}

/// Quantiles weighted by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quantiles {
    /// 10th percentile.
    pub p10: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// Maximum.
    pub max: u64,
}

/// A value over time with the durations of all values.
#[derive(Clone)]
pub struct Level {
    /// The current value.
    pub now: u64,
    since_ns: u64,
    /// Duration of each bucket, up to the largest value so far, in ns.
    held_ns: Vec<u64>,
    /// Integral of the values.
    sum: u128,
}

impl Level {
    /// Creates a value of 0, from `now_ns` or the start of the window on.
    pub fn new(now_ns: u64, window: &impl Window) -> Self {
        Self {
            now: 0,
            since_ns: now_ns.max(window.begins_ns()),
            held_ns: Vec::new(),
            sum: 0,
        }
    }

    /// Adds the time until `now_ns` with the current value, and changes the value.
    #[inline(always)]
    pub fn change(&mut self, to: u64, now_ns: u64, window: &impl Window) {
        // Many changes are simultaneous, or before the measurement.
        if now_ns > self.since_ns {
            let held_ns = window.measured_ns(self.since_ns, now_ns);
            self.add(self.now, held_ns);
            self.since_ns = now_ns;
        }
        self.now = to;
    }

    /// Returns the quantiles over the measured time.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            p10: self.at_share(0.1),
            p50: self.at_share(0.5),
            p90: self.at_share(0.9),
            max: self.at_share(1.0),
        }
    }

    /// Returns the values integrated over the measured time, in ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the mean over the measured time, rounded down.
    pub fn mean(&self) -> u64 {
        (self.sum / u128::from(self.all_ns().max(1))) as u64
    }

    /// Returns the smallest value that was not exceeded for `share` (0 to 1) of the measured time.
    pub fn at_share(&self, share: f64) -> u64 {
        let all_ns = self.all_ns();
        let wanted_ns = ((share.min(1.0) * all_ns as f64).ceil() as u64).clamp(1, all_ns.max(1));
        let mut sum_ns = 0;
        for (bucket, held_ns) in self.held_ns.iter().enumerate() {
            sum_ns += held_ns;
            if sum_ns >= wanted_ns {
                return highest_of(bucket);
            }
        }
        0
    }

    fn all_ns(&self) -> u64 {
        self.held_ns.iter().sum()
    }

    #[inline]
    fn add(&mut self, value: u64, held_ns: u64) {
        self.sum += u128::from(value) * u128::from(held_ns);
        match self.held_ns.get_mut(bucket_of(value)) {
            Some(bucket_ns) => *bucket_ns += held_ns,
            None => self.grow(value, held_ns),
        }
    }

    /// Grows the buckets for a new maximum.
    #[cold]
    fn grow(&mut self, value: u64, held_ns: u64) {
        let bucket = bucket_of(value.min(LARGEST));
        // Grows by one octave.
        let buckets = (bucket | 0x3ff) + 1;
        if buckets > self.held_ns.len() {
            self.held_ns.resize(buckets, 0);
        }
        self.held_ns[bucket] += held_ns;
    }
}

/// Returns the bucket of a value. Values above [`LARGEST`] are beyond the last bucket.
#[inline]
fn bucket_of(value: u64) -> usize {
    let shift = u64::BITS - (value | ((2 << STEPS_LOG2) - 1)).leading_zeros() - (STEPS_LOG2 + 1);
    ((shift as usize) << STEPS_LOG2) + (value >> shift) as usize
}

/// Returns the largest value of a bucket.
fn highest_of(bucket: usize) -> u64 {
    let shift = (bucket >> STEPS_LOG2).saturating_sub(1);
    let lowest = ((bucket - (shift << STEPS_LOG2)) as u64) << shift;
    lowest + (1 << shift) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_match_the_histogram(
            steps in prop::collection::vec((0..34_u32, any::<u32>(), 0..5_000_u64), 1..60),
            share in 0.0..1.0_f64,
        ) {
            let mut level = Level::new(0, &Since(100));
            let mut known = histogram_bytes();
            let (mut now_ns, mut held, mut sum, mut all_ns) = (0, 0, 0_u128, 0);
            for (bits, value, for_ns) in steps {
                now_ns += for_ns;
                let measured_ns = now_ns.saturating_sub((now_ns - for_ns).max(100));
                if measured_ns > 0 {
                    known.saturating_record_n(held, measured_ns);
                }
                sum += u128::from(held) * u128::from(measured_ns);
                all_ns += measured_ns;
                held = u64::from(value) >> bits.min(31);
                level.change(held, now_ns, &Since(100));
            }
            prop_assert_eq!(level.at_share(1.0), known.max());
            prop_assert_eq!(level.mean(), (sum / u128::from(all_ns.max(1))) as u64);
            for share in [share, 0.1, 0.5, 0.9, 1.0] {
                prop_assert_eq!(level.at_share(share), known.value_at_quantile(share));
            }
        }
    }

    #[test]
    fn long_durations_are_exact() {
        let mut times_ns = histogram_ns();
        for time_ns in [5_000, 2_500_000_000, 3_599_000_000_000] {
            times_ns.saturating_record(time_ns);
            let off_ns = times_ns.max() - time_ns;
            assert!(off_ns <= time_ns / 1_000, "{time_ns} ns: {off_ns} off");
        }
        assert_eq!(times_ns.value_at_quantile(0.3), 5_003);
        let mut bytes = histogram_bytes();
        bytes.saturating_record(5_000);
        assert_eq!(bytes.value_at_quantile(0.3), 5_003, "the same buckets");
    }

    #[test]
    fn repeated_value_continues() {
        let mut level = Level::new(0, &Since(0));
        for now_ns in [10, 20, 30] {
            level.change(7, now_ns, &Since(0));
        }
        assert_eq!(
            (level.mean(), level.at_share(1.0)),
            (4, 7),
            "7 for 20 of 30 ns"
        );
    }
}
