//! What one queue showed, and its row.

use serde_json::{Value, json};
use taut_sim::lane::{Course, LaneConfig, Observed};

/// What one queue showed.
pub(super) struct Seen {
    pub course: Course,
    pub limit_bytes: u32,
    pub largest_object_bytes: u64,
    pub utilisation: f64,
}

impl Seen {
    pub fn of_lane(lane: &LaneConfig, seen: Observed) -> Self {
        Self {
            course: seen.course,
            limit_bytes: seen.limit_bytes,
            largest_object_bytes: lane.object_bytes.iter().max().map_or(0, |&it| it.into()),
            utilisation: seen.utilisation,
        }
    }

    pub fn row(&self, traffic: &str, rule: &str) -> Value {
        let course = &self.course;
        let steps = || {
            let changes = course.limit_bytes.windows(2);
            changes.map(|two| (two[0].1, two[1].1))
        };
        let growths = steps().filter(|(before, after)| after > before);
        // From 0, no growth is a factor.
        let factors = growths.clone().filter(|&(before, _)| before > 0);
        let factors = factors.map(|(before, after)| f64::from(after) / f64::from(before));
        json!({
            "traffic": traffic,
            "rule": rule,
            "limit_bytes": self.limit_bytes,
            "limit_max_bytes": course.limit_bytes.iter().map(|&(_, limit)| limit).max(),
            "overshoot_bytes": course.overshoot_bytes,
            "largest_object_bytes": self.largest_object_bytes,
            "to_90_percent_us": ramp_ns(course, self.limit_bytes).map(|ns| ns as f64 / 1e3),
            "increases": growths.count(),
            "decreases": steps().filter(|(before, after)| after < before).count(),
            "largest_growth_factor": factors.fold(1.0, f64::max),
            "utilisation": self.utilisation,
        })
    }
}

/// When the limit first reached 90 % of what it was in the end, in ns.
fn ramp_ns(course: &Course, final_bytes: u32) -> Option<u64> {
    let enough = 0.9 * f64::from(final_bytes);
    let mut changes = course.limit_bytes.iter();
    let reached = changes.find(|&&(_, limit)| f64::from(limit) >= enough);
    reached.map(|&(at_ns, _)| at_ns)
}
