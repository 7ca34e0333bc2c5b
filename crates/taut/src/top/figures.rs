//! What is shown of one queue.

use super::history::{Bucket, History};
use super::sampler::Watched;
use crate::observe::row::Row;

/// What is in flight is summed up over so many buckets: two seconds.
pub const WINDOW_BUCKETS: usize = 20;

/// How long what is in flight waits, on average: ns, or bytes where the link's speed is not known.
pub fn queueing(queue: &Watched) -> (Option<u64>, u64) {
    let mean = queue
        .history
        .sum(WINDOW_BUCKETS)
        .in_flight
        .mean()
        .unwrap_or(0);
    (queue.row.link_time_ns(Some(mean)), mean)
}

/// Rate at which a history got samples, in Hz, over its last second.
pub fn rate_hz(history: &History) -> u64 {
    let buckets = (1_000_000_000 / history.bucket_ns()).max(1) as usize;
    // The last bucket is not full yet.
    let whole = history.last(buckets + 1).take(buckets);
    let sum = whole.fold((0, 0), |(samples, number), bucket| {
        (samples + bucket.in_flight.number(), number + 1)
    });
    let length_ns = sum.1 * history.bucket_ns();
    (sum.0 * 1_000_000_000).checked_div(length_ns).unwrap_or(0)
}

/// A curve of `columns` characters, the newest right, as parts of `most`.
pub fn curve(history: &History, columns: usize, most: u64, levels: &[char]) -> String {
    let empty = columns.saturating_sub(history.last(columns).count());
    let level = |bucket: &Bucket| match bucket.in_flight.number() {
        0 => ' ',
        _ => {
            let value = u128::from(bucket.in_flight.most.min(most));
            let steps = (levels.len() - 1) as u128;
            let step = (value * steps).div_ceil(u128::from(most.max(1)));
            levels[step.min(steps) as usize]
        }
    };
    let drawn = history.last(columns).map(level);
    std::iter::repeat_n(' ', empty).chain(drawn).collect()
}

/// What the curve of a queue reaches up to: its limit, or more if more was in flight.
pub fn top_of_curve(queue: &Watched) -> u64 {
    let all = queue.history.sum(usize::MAX);
    all.limit.most.max(all.in_flight.most).max(1)
}

/// The name of a queue's device; of a path, with its program.
pub fn name(row: &Row) -> String {
    match &row.path {
        None => row.device.clone(),
        Some(path) => format!("{} ({} {})", row.device, path.program, path.process),
    }
}

#[cfg(test)]
mod tests {
    use taut_linux::observe::Sample;

    use super::*;

    #[test]
    fn a_curve_has_the_newest_right_and_its_top_at_the_most() {
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
    fn the_rate_is_that_of_whole_buckets() {
        let mut history = History::new(100_000_000, 100);
        for at in 0..100 {
            history.add(at * 20_000_000, Sample::default());
        }
        assert_eq!(rate_hz(&history), 50);
        assert_eq!(rate_hz(&History::new(1, 1)), 0);
    }
}
