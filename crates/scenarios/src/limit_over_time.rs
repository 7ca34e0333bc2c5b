//! E5: the limit and what is in flight over time, on one queue.

mod tcp_stream;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taut_path::AnyLimit;
use taut_path::units::parse_size_bytes;

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::single_queue::{
    MINIMAL_COUNTED_BYTES, MINIMAL_FRAME_BYTES, check_cadence, check_duration, check_rate,
    check_ring, check_size, counted_with, saturated, series,
};
use super::tracing::TraceRow;
use taut_sim::lane::{Course, LaneConfig, Observed, Rule, Source, observe};
use taut_sim::nic::InterruptRule;
use taut_sim::tcp::SuperPacket;

/// The rules that are watched, each with all of the traffic.
fn rules() -> [AnyLimit; 2] {
    [AnyLimit::dql(), AnyLimit::taut()]
}

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
    /// Payload of the TCP stream's largest super-packet, a row for each: `auto` is what its rate
    /// sends in a millisecond, as Linux does.
    pub tcp_super_packets: Vec<String>,
    /// How long each is watched.
    pub duration: Time,
    /// How long the first ramp-up is watched.
    pub ramp_duration: Time,
    /// How long a TCP stream is watched.
    pub tcp_duration: Time,
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
            tcp_super_packets: [AUTO, "65160"].map(str::to_owned).to_vec(),
            duration: Time::ms(5_000),
            ramp_duration: Time::ms(5),
            tcp_duration: Time::ms(2_500),
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

/// What one queue showed.
struct Seen {
    course: Course,
    limit_bytes: u32,
    largest_object_bytes: u64,
    utilisation: f64,
}

impl Seen {
    fn of_lane(lane: &LaneConfig, seen: Observed) -> Self {
        Self {
            course: seen.course,
            limit_bytes: seen.limit_bytes,
            largest_object_bytes: lane.object_bytes.iter().max().map_or(0, |&it| it.into()),
            utilisation: seen.utilisation,
        }
    }

    fn row(&self, traffic: &str, rule: &str) -> Value {
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
        check(
            "tcp_super_packets, their number",
            self.tcp_super_packets.len(),
            0,
            20,
        )?;
        for spelled in &self.tcp_super_packets {
            super_packet(spelled).map_err(|error| error.to_string())?;
        }
        check_duration("tcp_duration", self.tcp_duration)?;
        check_cadence("cadence", self.cadence, self.tcp_duration)?;
        check("noise_gap", self.noise_gap, Time(1_000), self.duration)?;
        check_cadence("cadence", self.cadence, self.ramp_duration)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let lanes = self.lanes(seed).into_iter();
        lanes
            .flat_map(|(name, lane)| {
                let row = |limit| {
                    let rule = Rule::from(limit);
                    TraceRow::lane(format!("{name}: {rule}"), lane.clone(), rule)
                };
                rules().map(row)
            })
            .collect()
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let lanes = self.lanes(seed);
        let steps = ((lanes.len() + self.tcp_super_packets.len()) * rules().len()) as u64;
        let mut done = 0;
        let mut add = |traffic: &str, rule: &AnyLimit, run: Run| {
            let name = format!("{traffic}: {rule}");
            progress(&name, done, steps);
            done += 1;
            let seen = run(rule)?;
            found.row(seen.row(traffic, &rule.to_string()));
            found.series(series(&name, &seen.course, 0));
            Ok::<_, ScenarioError>(())
        };
        for rule in &rules() {
            for (name, lane) in &lanes {
                let run = |rule: &AnyLimit| {
                    let rule = Rule::from(rule.clone());
                    Ok(Seen::of_lane(lane, observe(lane, &rule)?))
                };
                add(name, rule, &run)?;
            }
            for spelled in &self.tcp_super_packets {
                let name = format!("one TCP stream, super-packets {spelled}");
                let super_packet = super_packet(spelled)?;
                add(&name, rule, &|rule| {
                    tcp_stream::run(self, super_packet, rule, seed)
                })?;
            }
        }
        progress("done", steps, steps);
        Ok(())
    }
}

/// Runs one kind of traffic under a rule.
type Run<'a> = &'a dyn Fn(&AnyLimit) -> Result<Seen, ScenarioError>;

/// Linux's own size of a super-packet.
const AUTO: &str = "auto";

fn super_packet(spelled: &str) -> Result<SuperPacket, ScenarioError> {
    if spelled == AUTO {
        return Ok(SuperPacket::Auto);
    }
    let key = "tcp_super_packets";
    let size = parse_size_bytes(spelled)
        .map_err(|error| ScenarioError::Setting(format!("{key}: {spelled:?}: {error}, or auto")))?;
    check_size(key, Size(size)).map_err(ScenarioError::Setting)?;
    Ok(SuperPacket::Fixed(size as u32))
}
