//! E5: the limit and what is in flight over time, on one queue.

mod tcp_stream;

use serde_json::{Value, json};
use taut_path::AnyLimit;
use taut_path::units::parse_size_bytes;

use crate::prelude::*;
use crate::single_queue::{
    MINIMAL_COUNTED_BYTES, MINIMAL_FRAME_BYTES, counted_with, saturated, series,
};
use taut_sim::lane::{Course, LaneConfig, Observed, Rule, Source, observe};
use taut_sim::nic::InterruptRule;
use taut_sim::tcp::SuperPacket;

/// The rules that are watched, each with all of the traffic.
fn rules() -> [AnyLimit; 2] {
    [AnyLimit::dql(), AnyLimit::taut()]
}

settings! {
    "limit-over-time" {
        /// Link rate of the minimal packets, and of the idle link.
        minimal_rate: Rate => allowed::rate,
        /// Link rate of the maximal packets.
        maximal_rate: Rate => allowed::rate,
        /// Their size.
        maximal_size: Size => allowed::size,
        /// Sizes of the noise on the idle link, in turn.
        noise_sizes: Vec<Size> => allowed::each(1..=1_000, allowed::size),
        /// From one packet of noise to the next, evenly spread from almost none to almost twice that.
        noise_gap: Time where allowed::within(Time(1_000)..=*duration),
        /// From interrupt to interrupt.
        cadence: Time where allowed::up_to(*tcp_duration.min(ramp_duration)),
        /// Descriptors of the ring.
        ring: u32 => allowed::ring,
        /// Payload of the TCP stream's largest super-packet, a row for each: `auto` is what its rate
        /// sends in a millisecond, as Linux does.
        tcp_super_packets: Vec<String> => allowed::each(0..=20, |_, it: &String| super_packet(it).map(drop)),
        /// How long each is watched.
        duration: Time => allowed::duration,
        /// How long the first ramp-up is watched.
        ramp_duration: Time => allowed::duration,
        /// How long a TCP stream is watched.
        tcp_duration: Time => allowed::duration,
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

/// A kind of traffic under a rule.
pub struct Case {
    traffic: String,
    rule: AnyLimit,
    on: On,
}

enum On {
    Lane(Box<LaneConfig>),
    Tcp(SuperPacket),
}

impl Case {
    fn name(&self) -> String {
        format!("{}: {}", self.traffic, self.rule)
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
    const ABOUT: &'static str = "the limit and what is in flight over time, on one queue (E5)";

    type Case = Case;
    type Outcome = Found;

    fn cases(&self, seed: u64) -> Result<Vec<Case>, ScenarioError> {
        let mut cases = Vec::new();
        for rule in rules() {
            let case = |traffic: String, on| Case {
                traffic,
                rule: rule.clone(),
                on,
            };
            let lanes = self.lanes(seed).into_iter();
            cases.extend(lanes.map(|(name, lane)| case(name.to_owned(), On::Lane(lane.into()))));
            for spelled in &self.tcp_super_packets {
                let super_packet = super_packet(spelled).map_err(ScenarioError::Setting)?;
                let traffic = format!("one TCP stream, super-packets {spelled}");
                cases.push(case(traffic, On::Tcp(super_packet)));
            }
        }
        Ok(cases)
    }

    fn name(&self, case: &Case) -> String {
        case.name()
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Found, ScenarioError> {
        let seen = match &case.on {
            On::Lane(lane) => Seen::of_lane(lane, observe(lane, &case.rule.clone().into())?),
            On::Tcp(super_packet) => tcp_stream::run(self, *super_packet, &case.rule, seed)?,
        };
        Ok(Found {
            series: series(&case.name(), &seen.course, 0).into(),
            ..Found::row(seen.row(&case.traffic, &case.rule.to_string()))
        })
    }

    fn found(&self, ran: &[(&Case, &Found)]) -> Found {
        Found::of(ran)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let of_lane = |(name, lane): (&str, LaneConfig)| {
            let row = |limit| {
                let rule = Rule::from(limit);
                TraceRow::lane(format!("{name}: {rule}"), lane.clone(), rule)
            };
            rules().map(row)
        };
        self.lanes(seed).into_iter().flat_map(of_lane).collect()
    }
}

/// Linux's own size of a super-packet.
const AUTO: &str = "auto";

fn super_packet(spelled: &str) -> Result<SuperPacket, String> {
    if spelled == AUTO {
        return Ok(SuperPacket::Auto);
    }
    let key = "tcp_super_packets";
    let size = parse_size_bytes(spelled)
        .map_err(|error| format!("{key}: {spelled:?}: {error}, or auto"))?;
    allowed::size(key, &Size(size))?;
    Ok(SuperPacket::Fixed(size as u32))
}
