//! The samples of one queue, summarised.

use taut_linux::observe::{Sample, excess_bytes};

/// A decrease of the limit to less than this percentage is a tooth of a saw.
const TOOTH_PERCENT: u64 = 70;

/// A summary of the samples of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trend {
    /// Number of samples.
    pub samples: usize,
    /// Samples with something in flight.
    pub busy: usize,
    /// Samples with more in flight than the limit, so that the limit stopped the queue.
    pub held: usize,
    /// Lowest limit.
    pub limit_min: u64,
    /// Highest limit.
    pub limit_max: u64,
    /// Most bytes in flight.
    pub in_flight_max: u64,
    /// Median of the limit in the first quarter.
    pub limit_first: u64,
    /// Median of the limit in the last quarter.
    pub limit_last: u64,
    /// Decreases of the limit by more than 30 % after an increase.
    pub teeth: usize,
    /// The last sample.
    pub last: Sample,
    /// Samples at the end that equal the last one.
    pub still: usize,
    /// Most bytes that the driver completed without having queued them. Such samples are not busy.
    pub excess: u64,
}

impl Trend {
    /// Summarises `samples`.
    pub fn of(samples: &[Sample]) -> Self {
        let excess = samples.iter().filter_map(|it| excess_bytes(it.in_flight));
        let excess = excess.max().unwrap_or(0);
        let in_flight = |it: &Sample| match excess_bytes(it.in_flight) {
            None => it.in_flight,
            Some(_) => 0,
        };
        let last = samples.last().copied().unwrap_or_default();
        let limits = || samples.iter().map(|it| it.limit);
        let quarter = samples.len().div_ceil(4);
        Self {
            samples: samples.len(),
            busy: samples.iter().filter(|it| in_flight(it) > 0).count(),
            held: samples.iter().filter(|it| in_flight(it) > it.limit).count(),
            limit_min: limits().min().unwrap_or(0),
            limit_max: limits().max().unwrap_or(0),
            in_flight_max: samples.iter().map(in_flight).max().unwrap_or(0),
            limit_first: median(limits().take(quarter)),
            limit_last: median(limits().skip(samples.len() - quarter)),
            teeth: teeth(limits()),
            still: samples.iter().rev().take_while(|it| **it == last).count(),
            last,
            excess,
        }
    }

    /// Returns the busy samples in percent of all.
    pub fn busy_percent(&self) -> u64 {
        percent(self.busy, self.samples)
    }

    /// Returns the samples in which the limit stopped the queue, in percent of the busy ones.
    pub fn held_percent(&self) -> u64 {
        percent(self.held, self.busy)
    }
}

fn percent(part: usize, whole: usize) -> u64 {
    (part * 100 / whole.max(1)) as u64
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Returns the number of increases that ended in a decrease by more than 30 %.
fn teeth(limits: impl Iterator<Item = u64>) -> usize {
    let (mut top, mut bottom, mut count) = (0u64, u64::MAX, 0);
    for limit in limits {
        top = top.max(limit);
        bottom = bottom.min(limit);
        let climbed = bottom < top;
        if climbed && limit.saturating_mul(100) < top.saturating_mul(TOOTH_PERCENT) {
            count += 1;
            (top, bottom) = (limit, limit);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(limits: &[u64]) -> Vec<Sample> {
        let sample = |&limit| Sample {
            limit,
            in_flight: 0,
        };
        limits.iter().map(sample).collect()
    }

    #[test]
    fn teeth_are_decreases_after_an_increase() {
        let teeth = |limits: &[u64]| Trend::of(&series(limits)).teeth;
        assert_eq!(teeth(&[100, 100, 100]), 0);
        assert_eq!(teeth(&[100, 200, 300, 100, 200, 300, 90]), 2);
        assert_eq!(teeth(&[100, 80, 100, 80]), 0, "less than a third");
        assert_eq!(teeth(&[10, 20, 40, 80]), 0, "growth");
    }

    #[test]
    fn medians_of_quarters_and_percentages() {
        let mut samples = series(&[10, 10, 20, 20, 30, 30, 40, 40]);
        samples[7].in_flight = 41;
        samples[6].in_flight = 5;
        let trend = Trend::of(&samples);
        assert_eq!((trend.limit_first, trend.limit_last), (10, 40));
        assert_eq!((trend.busy_percent(), trend.held_percent()), (25, 50));
    }

    proptest! {
        #[test]
        fn any_series_is_summarised(
            values in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50),
        ) {
            let sample = |(limit, in_flight)| Sample { limit, in_flight };
            let samples: Vec<Sample> = values.into_iter().map(sample).collect();
            let trend = Trend::of(&samples);
            prop_assert!(trend.held <= trend.busy && trend.busy <= trend.samples);
            prop_assert!(trend.limit_min <= trend.limit_first || samples.is_empty());
        }
    }
}
