//! How long a limit takes to follow what changes: the one definition behind every figure of that.
//!
//! A limit has **settled** when it is first within 1.25 times of where it ends up, and that is its
//! median over the second half of the time until the next change. A limit that began within 1.25
//! times of it has nothing to settle.

/// Within this factor of where it ends up, a limit has settled.
const NEAR: f64 = 1.25;

/// How long a limit took to follow what changed, in ns; nothing where it began near its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConvergenceTimes {
    /// The longest way up.
    pub up_ns: Option<u64>,
    /// The longest way down.
    pub down_ns: Option<u64>,
}

/// How long the limit of `course`, (ns, bytes) for each change of it, took to settle after each of
/// `changes_ns` and after time 0.
pub fn convergence_times(
    course: &[(u64, u32)],
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
        let once = convergence_once(course, start_ns, until_ns);
        found.up_ns = found.up_ns.max(once.up_ns);
        found.down_ns = found.down_ns.max(once.down_ns);
    }
    found
}

/// How long it took to settle after a change at `start_ns`, with nothing that changes before
/// `until_ns`: one way, or none.
pub fn convergence_once(course: &[(u64, u32)], start_ns: u64, until_ns: u64) -> ConvergenceTimes {
    let middle_ns = start_ns + (until_ns - start_ns) / 2;
    let steady = f64::from(median(course, middle_ns, until_ns));
    let began = f64::from(limit_at(course, start_ns));
    let first = |is_near: &dyn Fn(f64) -> bool| {
        let later = course.partition_point(|&(at_ns, _)| at_ns <= start_ns);
        let near = course[later..].iter().find(|it| is_near(f64::from(it.1)));
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

/// The limit of `course` that held at `at_ns`; 0 before the first.
pub fn limit_at(course: &[(u64, u32)], at_ns: u64) -> u32 {
    let after = course.partition_point(|&(change_ns, _)| change_ns <= at_ns);
    course[..after].last().map_or(0, |it| it.1)
}

/// The limit that was not exceeded for half of the time.
pub(crate) fn median(course: &[(u64, u32)], from_ns: u64, until_ns: u64) -> u32 {
    let mut held: Vec<(u32, u64)> = Vec::new();
    let (mut since_ns, mut limit) = (from_ns, limit_at(course, from_ns));
    let first = course.partition_point(|&(at_ns, _)| at_ns <= from_ns);
    for &(at_ns, next) in course[first..].iter().take_while(|it| it.0 < until_ns) {
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
    fn each_way_is_timed_from_its_change() {
        // Up from 0 in 30 to 1,000, at 100 down to 100 in 50, at 200 up in 7.
        let course = [(0, 0), (10, 500), (30, 1_000), (150, 100), (207, 1_000)];
        let found = convergence_times(&course, &[100, 200], 300);
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
        let course = [(0, 7), (10, 1), (11, 9), (12, 3)];
        assert_eq!(median(&course, 0, 20), 7);
        assert_eq!(median(&course, 9, 20), 3);
        assert_eq!(median(&course, 12, 20), 3);
        assert_eq!(median(&course, 9, 12), 7);
    }
}
