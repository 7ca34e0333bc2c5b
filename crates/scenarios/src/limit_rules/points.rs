//! Values over time, reduced to a number that can be drawn.

use taut_sim::completion_trace::CompletionTrace;

/// Samples of a time series: finer than the width of a plot.
const STEPS: u64 = 600;

/// Values from their time on: (ns, bytes).
pub type Points = Vec<(u64, f64)>;

/// Returns the required in-flight of each interval of the first queue, for a sender that refills at
/// once: the bytes that the wire can send in it. Each sample is a maximum.
pub(super) fn need_over_time(pattern: &CompletionTrace) -> Points {
    let mut now_ns = 0;
    let intervals = pattern.queues.first().into_iter().flat_map(|it| it.iter());
    let needs = intervals.map(|interval| {
        let after = pattern.rates.partition_point(|&(at_ns, _)| at_ns <= now_ns);
        let bytes_per_s = pattern.rates[..after].last().map_or(0, |rate| rate.1);
        let need = interval.gap_ns as f64 * bytes_per_s as f64 / 1e9;
        let at_ns = now_ns;
        now_ns += interval.gap_ns;
        (at_ns, need)
    });
    thinned(needs, pattern.end_ns, f64::max)
}

/// Returns one point for each non-empty sample.
pub(super) fn thinned(
    points: impl Iterator<Item = (u64, f64)>,
    end_ns: u64,
    join: impl Fn(f64, f64) -> f64,
) -> Points {
    let step_ns = (end_ns / STEPS).max(1);
    let mut thin: Points = Vec::new();
    for (at_ns, value) in points.take_while(|point| point.0 < end_ns) {
        match thin.last_mut() {
            Some((last_ns, last)) if *last_ns / step_ns == at_ns / step_ns => {
                *last = join(*last, value);
            }
            _ => thin.push((at_ns, value)),
        }
    }
    thin
}
