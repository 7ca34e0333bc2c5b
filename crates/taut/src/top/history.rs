//! What a queue did lately, in buckets of time.

use std::collections::VecDeque;

use taut_linux::observe::Sample;

/// The least, the mean and the most of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    pub least: u64,
    pub most: u64,
    sum: u128,
    number: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            least: u64::MAX,
            most: 0,
            sum: 0,
            number: 0,
        }
    }
}

impl Spread {
    fn add(&mut self, value: u64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        self.sum += u128::from(value);
        self.number += 1;
    }

    fn join(&mut self, other: &Self) {
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.number += other.number;
    }

    /// `None` if there was no sample.
    pub fn mean(&self) -> Option<u64> {
        let mean = self.sum.checked_div(self.number.into())?;
        Some(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    pub fn number(&self) -> u64 {
        self.number
    }
}

/// A bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    pub limit: Spread,
    pub in_flight: Spread,
}

/// The last buckets, oldest first. A bucket without a sample is one too: time goes on.
#[derive(Debug, Clone)]
pub struct History {
    bucket_ns: u64,
    most: usize,
    buckets: VecDeque<Bucket>,
    /// When the last one began.
    begin_ns: Option<u64>,
}

impl History {
    /// Keeps at most `most` buckets of `bucket_ns`.
    pub fn new(bucket_ns: u64, most: usize) -> Self {
        Self {
            bucket_ns,
            most,
            buckets: VecDeque::new(),
            begin_ns: None,
        }
    }

    pub fn add(&mut self, now_ns: u64, sample: Sample) {
        let begin_ns = *self.begin_ns.get_or_insert(now_ns);
        let passed = now_ns.saturating_sub(begin_ns) / self.bucket_ns;
        self.begin_ns = Some(begin_ns + passed * self.bucket_ns);
        // More than all need not be pushed one by one.
        let new = usize::try_from(passed).unwrap_or(self.most).min(self.most);
        for _ in 0..new.max(usize::from(self.buckets.is_empty())) {
            if self.buckets.len() == self.most {
                self.buckets.pop_front();
            }
            self.buckets.push_back(Bucket::default());
        }
        if let Some(bucket) = self.buckets.back_mut() {
            bucket.limit.add(sample.limit);
            bucket.in_flight.add(sample.in_flight);
        }
    }

    pub fn bucket_ns(&self) -> u64 {
        self.bucket_ns
    }

    /// The last `number` buckets, oldest first.
    pub fn last(&self, number: usize) -> impl Iterator<Item = &Bucket> {
        self.buckets
            .iter()
            .skip(self.buckets.len().saturating_sub(number))
    }

    /// The last `number` buckets as one.
    pub fn sum(&self, number: usize) -> Bucket {
        self.last(number)
            .fold(Bucket::default(), |mut sum, bucket| {
                sum.limit.join(&bucket.limit);
                sum.in_flight.join(&bucket.in_flight);
                sum
            })
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
    fn samples_of_a_bucket_are_summed_and_empty_time_passes() {
        let mut history = History::new(10, 4);
        for (now_ns, in_flight) in [(5, 1), (14, 5), (15, 7), (46, 9)] {
            history.add(now_ns, sample(in_flight));
        }
        let means: Vec<Option<u64>> = history.last(9).map(|it| it.in_flight.mean()).collect();
        assert_eq!(means, [Some(7), None, None, Some(9)], "the first fell out");
        let sum = history.sum(2).in_flight;
        assert_eq!((sum.least, sum.most, sum.number()), (9, 9, 1));
        let all = history.sum(9).in_flight;
        assert_eq!((all.least, all.mean(), all.most), (7, Some(8), 9));
    }

    proptest! {
        #[test]
        fn a_history_is_bounded_and_never_panics(
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
