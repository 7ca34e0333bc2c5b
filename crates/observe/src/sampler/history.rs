//! The recent samples of a queue, in buckets of time.

use std::collections::VecDeque;

use taut_linux::observe::{Sample, excess_bytes};

use super::live::Collector;

/// Minimum, mean and maximum of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// `u64::MAX` without a sample.
    pub min: u64,
    /// 0 without a sample.
    pub max: u64,
    sum: u128,
    /// Number of samples.
    pub number: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            min: u64::MAX,
            max: 0,
            sum: 0,
            number: 0,
        }
    }
}

impl Spread {
    fn add(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.number += 1;
    }

    fn join(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.number += other.number;
    }

    /// Returns the mean; `None` without a sample.
    pub fn mean(&self) -> Option<u64> {
        let mean = self.sum.checked_div(self.number.into())?;
        Some(u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

/// The samples of one span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    /// The limit.
    pub limit: Spread,
    /// Bytes in flight.
    pub in_flight: Spread,
}

/// The last buckets, oldest first, including those without a sample.
#[derive(Debug, Clone)]
pub struct History {
    /// Length of a bucket, in ns.
    pub bucket_ns: u64,
    max_buckets: usize,
    buckets: VecDeque<Bucket>,
    /// Start of the last bucket.
    begin_ns: Option<u64>,
}

impl History {
    /// Keeps at most `max_buckets` buckets of `bucket_ns`.
    pub fn new(bucket_ns: u64, max_buckets: usize) -> Self {
        Self {
            bucket_ns,
            max_buckets,
            buckets: VecDeque::new(),
            begin_ns: None,
        }
    }

    /// Returns the last `number` buckets, oldest first.
    pub fn last(&self, number: usize) -> impl Iterator<Item = &Bucket> {
        self.buckets
            .iter()
            .skip(self.buckets.len().saturating_sub(number))
    }

    /// Returns the last `number` buckets as one.
    pub fn sum(&self, number: usize) -> Bucket {
        self.last(number)
            .fold(Bucket::default(), |mut sum, bucket| {
                sum.limit.join(&bucket.limit);
                sum.in_flight.join(&bucket.in_flight);
                sum
            })
    }
}

impl Collector for History {
    fn add(&mut self, now_ns: u64, sample: Sample) {
        let begin_ns = *self.begin_ns.get_or_insert(now_ns);
        let passed = now_ns.saturating_sub(begin_ns) / self.bucket_ns;
        self.begin_ns = Some(begin_ns + passed * self.bucket_ns);
        // Time that exceeds all buckets replaces each of them once.
        let new = usize::try_from(passed)
            .unwrap_or(self.max_buckets)
            .min(self.max_buckets);
        for _ in 0..new.max(usize::from(self.buckets.is_empty())) {
            if self.buckets.len() == self.max_buckets {
                self.buckets.pop_front();
            }
            self.buckets.push_back(Bucket::default());
        }
        if let Some(bucket) = self.buckets.back_mut() {
            bucket.limit.add(sample.limit);
            // A negative value is not an amount; the row shows it.
            if excess_bytes(sample.in_flight).is_none() {
                bucket.in_flight.add(sample.in_flight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(in_flight: u64) -> Sample {
        Sample {
            limit: 100,
            in_flight,
        }
    }

    #[test]
    fn buckets_sum_samples_and_include_empty_time() {
        let mut history = History::new(10, 4);
        for (now_ns, in_flight) in [(5, 1), (14, 5), (15, 7), (46, 9)] {
            history.add(now_ns, sample(in_flight));
        }
        let means: Vec<Option<u64>> = history.last(9).map(|it| it.in_flight.mean()).collect();
        assert_eq!(
            means,
            [Some(7), None, None, Some(9)],
            "the first was dropped"
        );
        let sum = history.sum(2).in_flight;
        assert_eq!((sum.min, sum.max, sum.number), (9, 9, 1));
        let all = history.sum(9).in_flight;
        assert_eq!((all.min, all.mean(), all.max), (7, Some(8), 9));
    }

    proptest! {
        #[test]
        fn history_is_bounded_and_never_panics(
            times in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50),
        ) {
            let mut history = History::new(1000, 8);
            for (now_ns, value) in times {
                history.add(now_ns, sample(value));
                prop_assert!(history.last(100).count() <= 8);
                let _ = history.sum(3).in_flight.mean();
            }
        }
    }
}
