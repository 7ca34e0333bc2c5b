//! E4: the limit that one saturating sender settles at.

use serde_json::json;

use crate::prelude::*;
use crate::single_queue::{MINIMAL_FRAME_BYTES, counted_with, law_bytes, saturated};
use taut_sim::lane::{LaneConfig, Rule, observe};
use taut_sim::nic::InterruptRule;

settings! {
    "right-size" {
        /// Link rate of the minimal packets.
        minimal_rate: Rate => allowed::rate,
        /// What a minimal packet, a frame of 60 bytes, counts for; 60 to 84.
        minimal_counted: Size => allowed::within(Size(MINIMAL_FRAME_BYTES as u64)..=Size(84)),
        /// Link rate of the maximal packets.
        maximal_rate: Rate => allowed::rate,
        /// Their size.
        maximal_size: Size => allowed::size,
        /// From interrupt to interrupt.
        cadence: Time where allowed::up_to(*duration),
        /// Descriptors of the ring.
        ring: u32 => allowed::ring,
        /// What is not measured at the start: more than two hold times, so that the first ramp-up is
        /// cut back to what is needed.
        warm_up: Time => allowed::duration,
        /// What is measured.
        duration: Time => allowed::duration,
    }
}

/// Packets of one size on one link.
pub struct Case {
    packets: &'static str,
    lane: LaneConfig,
    /// What was published: bytes, packets, kpps.
    published: [f64; 3],
}

impl Settings {
    fn lanes(&self, seed: u64) -> [Case; 2] {
        let interrupt = InterruptRule::every(self.cadence.0);
        let counted = self.minimal_counted.0 as u32;
        let mut minimal = saturated(self.minimal_rate, self.ring, counted, interrupt, seed);
        minimal.nic.framing = counted_with(counted - MINIMAL_FRAME_BYTES);
        let size = self.maximal_size.0 as u32;
        let maximal = saturated(self.maximal_rate, self.ring, size, interrupt, seed);
        let case = |packets, lane, published| Case {
            packets,
            lane: LaneConfig {
                measure_from_ns: self.warm_up.0,
                end_ns: self.warm_up.0 + self.duration.0,
                ..lane
            },
            published,
        };
        [
            case("minimal", minimal, [9_577.0, 145.0, 1_490.0]),
            case("maximal", maximal, [122_974.0, 81.0, 810.0]),
        ]
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str = "the limit that one saturating sender settles at (E4)";
    const HAS_FIGURES: bool = true;

    type Case = Case;
    type Outcome = Found;

    fn cases(&self, seed: u64) -> Result<Vec<Case>, ScenarioError> {
        Ok(self.lanes(seed).into())
    }

    fn name(&self, case: &Case) -> String {
        case.packets.to_owned()
    }

    fn run(&self, case: &Case, _seed: u64) -> Result<Found, ScenarioError> {
        let seen = observe(&case.lane, &Rule::dql())?;
        let object = f64::from(case.lane.object_bytes[0]);
        let packets = |bytes: u64| bytes as f64 / object;
        let (in_flight, mean_bytes) = (seen.in_flight_bytes, seen.in_flight_mean_bytes);
        let kpps = seen.wire.packets as f64 * 1e6 / self.duration.0 as f64;
        let found = [
            ("in flight", mean_bytes as f64, "bytes"),
            ("in flight", packets(mean_bytes), "packets"),
            ("rate", kpps, "kpps"),
        ];
        let figures = found.into_iter().zip(case.published);
        let figures = figures.map(|((what, value, unit), published)| {
            let id = format!("E4, {}, {what}, {unit}", case.packets);
            Figure::new(id, &[published], value, unit, &["cadence"])
        });
        let row = json!({
            "packets": case.packets,
            "limit_bytes": seen.limit_bytes,
            "law_bytes": law_bytes(&case.lane, self.cadence.0),
            "in_flight_mean_bytes": mean_bytes,
            "in_flight_p90_bytes": in_flight.p90,
            "in_flight_max_bytes": in_flight.max,
            "in_flight_mean_packets": packets(mean_bytes),
            "in_flight_p90_packets": packets(in_flight.p90),
            "in_flight_max_packets": packets(in_flight.max),
            "rate_kpps": kpps,
            "utilisation": seen.utilisation,
            "starved_rounds": seen.starved,
        });
        Ok(Found {
            figures: figures.collect(),
            ..Found::row(row)
        })
    }

    fn found(&self, ran: &[(&Case, &Found)]) -> Found {
        Found::of(ran)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |case: Case| TraceRow::lane(case.packets, case.lane, Rule::dql());
        self.lanes(seed).map(row).into()
    }
}
