//! E5: the limit and what is in flight over time, on one queue.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Found, Progress, Scenario, ScenarioError};
use super::single_queue::{
    DQL, MINIMAL_COUNTED_BYTES, MINIMAL_FRAME_BYTES, check_cadence, check_duration, check_rate,
    check_ring, check_size, counted_with, saturated, series,
};
use super::tracing::TraceRow;
use crate::lane::{Course, LaneConfig, Observed, Source, observe};
use crate::nic::InterruptRule;

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `limit-over-time`.
    pub scenario: String,
    /// Link rate of the minimal packets, and of the idle link.
    pub minimal_rate: Rate,
    /// Link rate of the maximal packets.
    pub maximal_rate: Rate,
    /// Their size.
    pub maximal_size: Size,
    /// Sizes of the noise on the idle link, in turn.
    pub noise_sizes: Vec<Size>,
    /// From one packet of noise to the next, evenly spread from almost none to almost twice that.
    pub noise_gap: Time,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// Descriptors of the ring.
    pub ring: u32,
    /// How long each is watched.
    pub duration: Time,
    /// How long the first ramp-up is watched.
    pub ramp_duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            minimal_rate: Rate(1_000_000_000),
            maximal_rate: Rate(10_000_000_000),
            maximal_size: Size(1_514),
            noise_sizes: vec![Size(66), Size(1_514), Size(200), Size(590)],
            noise_gap: Time::ms(2),
            cadence: Time::us(50),
            ring: 1_024,
            duration: Time::ms(5_000),
            ramp_duration: Time::ms(5),
        }
    }
}

impl Settings {
    fn lanes(&self, seed: u64) -> [(&'static str, LaneConfig); 4] {
        let interrupt = InterruptRule::every(self.cadence.0);
        let lane = |rate, bytes, duration: Time| LaneConfig {
            end_ns: duration.0,
            ..saturated(rate, self.ring, bytes, interrupt, seed)
        };
        let minimal = |duration| {
            let mut lane = lane(self.minimal_rate, MINIMAL_COUNTED_BYTES, duration);
            lane.nic.framing = counted_with(MINIMAL_COUNTED_BYTES - MINIMAL_FRAME_BYTES);
            lane
        };
        let maximal_bytes = self.maximal_size.0 as u32;
        let noise = LaneConfig {
            object_bytes: self.noise_sizes.iter().map(|size| size.0 as u32).collect(),
            source: Source::Bursts {
                packets: 1,
                every_ns: self.noise_gap.0,
                jitter_ns: self.noise_gap.0 - 1,
            },
            ..lane(self.minimal_rate, 0, self.duration)
        };
        [
            ("minimal", minimal(self.duration)),
            ("minimal, first ramp-up", minimal(self.ramp_duration)),
            (
                "maximal",
                lane(self.maximal_rate, maximal_bytes, self.duration),
            ),
            ("idle with noise", noise),
        ]
    }
}

fn row(name: &str, lane: &LaneConfig, seen: &Observed) -> Value {
    let course = &seen.course;
    let steps = || {
        course
            .limit_bytes
            .windows(2)
            .map(|two| (two[0].1, two[1].1))
    };
    let growths = steps().filter(|(before, after)| after > before);
    // From 0, no growth is a factor.
    let factors = growths.clone().filter(|&(before, _)| before > 0);
    let factors = factors.map(|(before, after)| f64::from(after) / f64::from(before));
    json!({
        "traffic": name,
        "limit_bytes": seen.limit_bytes,
        "limit_max_bytes": course.limit_bytes.iter().map(|&(_, limit)| limit).max(),
        "overshoot_bytes": course.overshoot_bytes,
        "largest_object_bytes": lane.object_bytes.iter().max(),
        "to_90_percent_us": ramp_ns(course, seen.limit_bytes).map(|ns| ns as f64 / 1e3),
        "increases": growths.count(),
        "decreases": steps().filter(|(before, after)| after < before).count(),
        "largest_growth_factor": factors.fold(1.0, f64::max),
    })
}

/// When the limit first reached 90 % of what it was in the end, in ns.
fn ramp_ns(course: &Course, final_bytes: u32) -> Option<u64> {
    let enough = 0.9 * f64::from(final_bytes);
    let mut changes = course.limit_bytes.iter();
    let reached = changes.find(|&&(_, limit)| f64::from(limit) >= enough);
    reached.map(|&(at_ns, _)| at_ns)
}

impl Scenario for Settings {
    const NAME: &'static str = "limit-over-time";
    const ABOUT: &'static str = "the limit and what is in flight over time, on one queue (E5)";
    const HAS_FIGURES: bool = false;

    fn validate(&self) -> Result<(), String> {
        check_rate("minimal_rate", self.minimal_rate)?;
        check_rate("maximal_rate", self.maximal_rate)?;
        check_size("maximal_size", self.maximal_size)?;
        check(
            "noise_sizes, their number",
            self.noise_sizes.len(),
            1,
            1_000,
        )?;
        for &size in &self.noise_sizes {
            check_size("noise_sizes", size)?;
        }
        check_ring("ring", self.ring)?;
        check_duration("duration", self.duration)?;
        check_duration("ramp_duration", self.ramp_duration)?;
        check("noise_gap", self.noise_gap, Time(1_000), self.duration)?;
        check_cadence("cadence", self.cadence, self.ramp_duration)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let lanes = self.lanes(seed).into_iter();
        lanes
            .map(|(name, lane)| TraceRow::lane(name, lane, DQL))
            .collect()
    }

    fn measure(&self, seed: u64, progress: Progress) -> Result<Found, ScenarioError> {
        let mut found = Found::default();
        let lanes = self.lanes(seed);
        for (done, (name, lane)) in lanes.iter().enumerate() {
            progress(name, done as u64, lanes.len() as u64);
            let seen = observe(lane, DQL)?;
            found.rows.push(row(name, lane, &seen));
            found.series.extend(series(name, &seen.course, 0));
        }
        progress("done", lanes.len() as u64, lanes.len() as u64);
        Ok(found)
    }
}
