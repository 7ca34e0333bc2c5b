//! E5: the limit and what is in flight over time, on one queue.

mod seen;
mod tcp_stream;

use taut_path::AnyLimit;
use taut_path::units::parse_size_bytes;

use crate::prelude::*;
use crate::single_queue::{
    MINIMAL_COUNTED_BYTES, MINIMAL_FRAME_BYTES, counted_with, saturated, series,
};
use crate::two_hosts::card;
use seen::Seen;
use taut_sim::lane::{LaneConfig, Rule, Source, observe};
use taut_sim::nic::{DescriptorRule, InterruptRule, NicConfig};
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

    /// That of the TCP stream, at the rate of the maximal packets.
    fn tcp_card(&self, seed: u64) -> NicConfig {
        NicConfig {
            rule: DescriptorRule::OnePerPacket,
            ..card(self.maximal_rate, self.ring, self.cadence, seed)
        }
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
            On::Tcp(super_packet) => {
                let card = self.tcp_card(seed);
                tcp_stream::run(card, *super_packet, &case.rule, self.tcp_duration.0)?
            }
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
