//! Values and curve of one queue.

use serde_json::json;
use taut_linux::observe::LIMIT_MAX_UNSET;
use taut_observe::QueueRow;
use taut_observe::sampler::{Bucket, History, SampledQueue};
use taut_report::number::{readable, short};

/// Buckets over which bytes in flight are summarised: two seconds.
pub const WINDOW_BUCKETS: usize = 20;

/// Returns the mean time in flight in ns, where the link's speed is known, and the mean bytes.
pub fn queueing(queue: &SampledQueue<History>) -> (Option<u64>, u64) {
    let mean = queue
        .samples
        .sum(WINDOW_BUCKETS)
        .in_flight
        .mean()
        .unwrap_or(0);
    (queue.row.link_time_ns(Some(mean)), mean)
}

/// Returns the rate of samples in the last second of a history, in Hz.
pub fn rate_hz(history: &History) -> u64 {
    let buckets = (1_000_000_000 / history.bucket_ns).max(1) as usize;
    // The last bucket is not full yet.
    let whole = history.last(buckets + 1).take(buckets);
    let sum = whole.fold((0, 0), |(samples, number), bucket| {
        (samples + bucket.in_flight.number, number + 1)
    });
    let length_ns = sum.1 * history.bucket_ns;
    (sum.0 * 1_000_000_000).checked_div(length_ns).unwrap_or(0)
}

/// Returns a curve of `columns` characters, the newest right, as fractions of `max`.
pub fn curve(history: &History, columns: usize, max: u64, levels: &[char]) -> String {
    let empty = columns.saturating_sub(history.last(columns).count());
    let level = |bucket: &Bucket| match bucket.in_flight.number {
        0 => ' ',
        _ => {
            let value = u128::from(bucket.in_flight.max.min(max));
            let steps = (levels.len() - 1) as u128;
            let step = (value * steps).div_ceil(u128::from(max.max(1)));
            levels[step.min(steps) as usize]
        }
    };
    let drawn = history.last(columns).map(level);
    std::iter::repeat_n(' ', empty).chain(drawn).collect()
}

/// Returns the top of a queue's curve: its limit, or the bytes in flight if they exceed it.
pub fn top_of_curve(queue: &SampledQueue<History>) -> u64 {
    let all = queue.samples.sum(usize::MAX);
    all.limit.max.max(all.in_flight.max).max(1)
}

/// Returns the name of a queue's device; for a path, with its program.
pub fn name(row: &QueueRow) -> String {
    match &row.path {
        None => row.device.clone(),
        Some(path) => format!("{} ({} {})", row.device, path.program, path.process),
    }
}

/// Formats a number exactly if that fits, otherwise rounded.
pub fn amount(value: u64) -> String {
    let exact = readable(&json!(value));
    match exact.len() <= 8 {
        true => exact,
        false if value == LIMIT_MAX_UNSET => "no limit".to_owned(),
        false => short((value / 1000 * 1000) as f64),
    }
}

#[cfg(test)]
mod tests {
    use taut_linux::observe::Sample;
    use taut_observe::sampler::Collector;

    use super::*;

    #[test]
    fn curve_has_newest_right_and_top_at_max() {
        let mut history = History::new(10, 100);
        for (at, in_flight) in [(0, 0), (10, 4), (20, 8), (40, 1)] {
            let sample = Sample {
                limit: 8,
                in_flight,
            };
            history.add(at, sample);
        }
        let levels: Vec<char> = " .-=#".chars().collect();
        assert_eq!(curve(&history, 7, 8, &levels), "   -# .");
        assert_eq!(curve(&history, 3, 8, &levels), "# .");
        assert_eq!(curve(&History::new(10, 100), 3, 8, &levels), "   ");
    }

    #[test]
    fn rate_counts_whole_buckets() {
        let mut history = History::new(100_000_000, 100);
        for at in 0..100 {
            history.add(at * 20_000_000, Sample::default());
        }
        assert_eq!(rate_hz(&history), 50);
        assert_eq!(rate_hz(&History::new(1, 1)), 0);
    }
}
