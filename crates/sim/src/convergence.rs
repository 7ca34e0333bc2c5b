//! Convergence time of a limit after a change of the workload. All published convergence times use
//! this definition.
//!
//! A limit has **converged** when it is first within a factor of 1.25 of its final value. The final
//! value is its median over the second half of the time until the next change. A limit that starts
//! within that factor has no convergence time.

/// A limit within this factor of its final value has converged.
const NEAR: f64 = 1.25;

/// Convergence times after a change, in ns; `None` if the limit started near its final value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConvergenceTimes {
    /// The longest increase.
    pub up_ns: Option<u64>,
    /// The longest decrease.
    pub down_ns: Option<u64>,
}

/// Returns how long the limit of `series`, given as (ns, bytes) for each change, took to converge
/// after time 0 and after each of `changes_ns`.
pub fn convergence_times(
    series: &[(u64, u32)],
    changes_ns: &[u64],
    end_ns: u64,
) -> ConvergenceTimes {
    let mut starts: Vec<u64> = changes_ns
        .iter()
        .copied()
        .filter(|&ns| ns < end_ns)
        .collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let mut found = ConvergenceTimes::default();
    for (at, &start_ns) in starts.iter().enumerate() {
        let until_ns = starts.get(at + 1).copied().unwrap_or(end_ns);
        let once = convergence_once(series, start_ns, until_ns);
        found.up_ns = found.up_ns.max(once.up_ns);
        found.down_ns = found.down_ns.max(once.down_ns);
    }
    found
}

/// Returns the convergence time after a change at `start_ns`, with no further change before
/// `until_ns`. At most one direction is set.
pub fn convergence_once(series: &[(u64, u32)], start_ns: u64, until_ns: u64) -> ConvergenceTimes {
    let middle_ns = start_ns + (until_ns - start_ns) / 2;
    let steady = f64::from(median(series, middle_ns, until_ns));
    let began = f64::from(limit_at(series, start_ns));
    let first = |is_near: &dyn Fn(f64) -> bool| {
        let later = series.partition_point(|&(at_ns, _)| at_ns <= start_ns);
        let near = series[later..].iter().find(|it| is_near(f64::from(it.1)));
        near.map_or(until_ns, |it| it.0) - start_ns
    };
    let mut found = ConvergenceTimes::default();
    if began * NEAR < steady {
        found.up_ns = Some(first(&|limit| limit * NEAR >= steady));
    } else if began > steady * NEAR {
        found.down_ns = Some(first(&|limit| limit <= steady * NEAR));
    }
    found
}

/// Returns the limit of `series` at `at_ns`; 0 before its first entry.
pub fn limit_at(series: &[(u64, u32)], at_ns: u64) -> u32 {
    let after = series.partition_point(|&(change_ns, _)| change_ns <= at_ns);
    series[..after].last().map_or(0, |it| it.1)
}

/// Returns the time-weighted median of the limit from `from_ns` to `until_ns`.
pub(crate) fn median(series: &[(u64, u32)], from_ns: u64, until_ns: u64) -> u32 {
    let mut held: Vec<(u32, u64)> = Vec::new();
    let (mut since_ns, mut limit) = (from_ns, limit_at(series, from_ns));
    let first = series.partition_point(|&(at_ns, _)| at_ns <= from_ns);
    for &(at_ns, next) in series[first..].iter().take_while(|it| it.0 < until_ns) {
        held.push((limit, at_ns - since_ns));
        (since_ns, limit) = (at_ns, next);
    }
    held.push((limit, until_ns - since_ns));
    held.sort_unstable();
    let mut left_ns = (until_ns - from_ns).div_ceil(2);
    for &(limit, held_ns) in &held {
        if held_ns >= left_ns {
            return limit;
        }
        left_ns -= held_ns;
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_is_timed_from_its_change() {
        // Rises to 1,000 in 30 ns, drops to 100 in 50 ns after 100, and rises in 7 ns after 200.
        let series = [(0, 0), (10, 500), (30, 1_000), (150, 100), (207, 1_000)];
        let found = convergence_times(&series, &[100, 200], 300);
        let expected = ConvergenceTimes {
            up_ns: Some(30),
            down_ns: Some(50),
        };
        assert_eq!(found, expected);
        let steady = convergence_times(&[(0, 1_000)], &[], 300);
        assert_eq!(steady, ConvergenceTimes::default());
    }

    #[test]
    fn the_median_is_weighted_by_time() {
        let series = [(0, 7), (10, 1), (11, 9), (12, 3)];
        assert_eq!(median(&series, 0, 20), 7);
        assert_eq!(median(&series, 9, 20), 3);
        assert_eq!(median(&series, 12, 20), 3);
        assert_eq!(median(&series, 9, 12), 7);
    }
}
