//! How often how much was in flight.

use taut_linux::observe::{Sample, excess_bytes};

use super::live::Collector;

/// Number of buckets.
const BUCKETS: usize = 16;

/// Returns the upper end of a bucket, in bytes: 0, then powers of two up to 16 MiB.
const fn end_of(bucket: usize) -> u64 {
    if bucket == 0 { 0 } else { 1 << (9 + bucket) }
}

/// A histogram of the bytes in flight of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Histogram {
    counts: [u64; BUCKETS],
    /// All samples, including those above the last bucket.
    pub samples: u64,
    /// Their sum.
    pub sum_bytes: u64,
}

impl Histogram {
    /// Returns each bucket's upper end, and the number of samples up to there.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut so_far = 0;
        self.counts.iter().enumerate().map(move |(bucket, count)| {
            so_far += count;
            (end_of(bucket), so_far)
        })
    }
}

impl Collector for Histogram {
    fn add(&mut self, _at_ns: u64, sample: Sample) {
        let bytes = sample.in_flight;
        if excess_bytes(bytes).is_some() {
            // A negative value is not an amount.
            return;
        }
        if let Some(bucket) = (0..BUCKETS).find(|&bucket| bytes <= end_of(bucket)) {
            self.counts[bucket] += 1;
        }
        self.samples += 1;
        self.sum_bytes = self.sum_bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_counts_in_its_bucket_and_all_above() {
        let mut histogram = Histogram::default();
        for in_flight in [0, 1, 1024, 1025, 16 << 20, u64::MAX] {
            histogram.add(
                0,
                Sample {
                    limit: 0,
                    in_flight,
                },
            );
        }
        let counts: Vec<(u64, u64)> = histogram.cumulative().collect();
        assert_eq!(counts[..3], [(0, 1), (1024, 3), (2048, 4)]);
        assert_eq!(counts[15], (16 << 20, 5));
        assert_eq!((histogram.samples, histogram.sum_bytes), (6, u64::MAX));
    }
}
