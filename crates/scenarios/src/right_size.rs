//! E4: the limit that one saturating sender settles at.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::single_queue::{
    MINIMAL_COUNTED_BYTES, MINIMAL_FRAME_BYTES, check_cadence, check_duration, check_rate,
    check_ring, check_size, counted_with, law_bytes, saturated,
};
use super::tracing::TraceRow;
use crate::results::Figure;
use taut_sim::lane::{LaneConfig, Rule, observe};
use taut_sim::nic::InterruptRule;

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `right-size`.
    pub scenario: String,
    /// Link rate of the minimal packets.
    pub minimal_rate: Rate,
    /// What a minimal packet, a frame of 60 bytes, counts for; 60 to 84.
    pub minimal_counted: Size,
    /// Link rate of the maximal packets.
    pub maximal_rate: Rate,
    /// Their size.
    pub maximal_size: Size,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// Descriptors of the ring.
    pub ring: u32,
    /// What is not measured at the start: more than two hold times, so that the first ramp-up is
    /// cut back to what is needed.
    pub warm_up: Time,
    /// What is measured.
    pub duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            minimal_rate: Rate(1_000_000_000),
            minimal_counted: Size(MINIMAL_COUNTED_BYTES.into()),
            maximal_rate: Rate(10_000_000_000),
            maximal_size: Size(1_514),
            cadence: Time::us(50),
            ring: 1_024,
            warm_up: Time::ms(3_000),
            duration: Time::ms(1_000),
        }
    }
}

/// What was published for a row: bytes, packets, kpps.
type Published = [f64; 3];

impl Settings {
    fn lanes(&self, seed: u64) -> [(&'static str, LaneConfig, Published); 2] {
        let interrupt = InterruptRule::every(self.cadence.0);
        let counted = self.minimal_counted.0 as u32;
        let mut minimal = saturated(self.minimal_rate, self.ring, counted, interrupt, seed);
        minimal.nic.framing = counted_with(counted - MINIMAL_FRAME_BYTES);
        let size = self.maximal_size.0 as u32;
        let maximal = saturated(self.maximal_rate, self.ring, size, interrupt, seed);
        let timed = |lane| LaneConfig {
            measure_from_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + self.duration.0,
            ..lane
        };
        [
            ("minimal", timed(minimal), [9_577.0, 145.0, 1_490.0]),
            ("maximal", timed(maximal), [122_974.0, 81.0, 810.0]),
        ]
    }
}

impl Scenario for Settings {
    const NAME: &'static str = "right-size";
    const ABOUT: &'static str = "the limit that one saturating sender settles at (E4)";
    const HAS_FIGURES: bool = true;

    fn validate(&self) -> Result<(), String> {
        check_rate("minimal_rate", self.minimal_rate)?;
        let least = Size(MINIMAL_FRAME_BYTES.into());
        check("minimal_counted", self.minimal_counted, least, Size(84))?;
        check_rate("maximal_rate", self.maximal_rate)?;
        check_size("maximal_size", self.maximal_size)?;
        check_ring("ring", self.ring)?;
        check_duration("warm_up", self.warm_up)?;
        check_duration("duration", self.duration)?;
        check_cadence("cadence", self.cadence, self.duration)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let lanes = self.lanes(seed).into_iter();
        lanes
            .map(|(name, lane, _)| TraceRow::lane(name, lane, Rule::dql()))
            .collect()
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        for (done, (name, lane, published)) in self.lanes(seed).into_iter().enumerate() {
            progress(name, done as u64, 2);
            let seen = observe(&lane, &Rule::dql())?;
            let object = f64::from(lane.object_bytes[0]);
            let in_flight = seen.in_flight_bytes;
            let packets = |bytes: u64| bytes as f64 / object;
            let kpps = seen.wire.packets as f64 * 1e6 / self.duration.0 as f64;
            found.row(json!({
                "packets": name,
                "limit_bytes": seen.limit_bytes,
                "law_bytes": law_bytes(&lane, self.cadence.0),
                "in_flight_mean_bytes": seen.in_flight_mean_bytes,
                "in_flight_p90_bytes": in_flight.p90,
                "in_flight_max_bytes": in_flight.max,
                "in_flight_mean_packets": packets(seen.in_flight_mean_bytes),
                "in_flight_p90_packets": packets(in_flight.p90),
                "in_flight_max_packets": packets(in_flight.max),
                "rate_kpps": kpps,
                "utilisation": seen.utilisation,
                "starved_rounds": seen.starved,
            }));
            let in_flight = [
                seen.in_flight_mean_bytes as f64,
                packets(seen.in_flight_mean_bytes),
            ];
            let values = [in_flight[0], in_flight[1], kpps];
            for ((what, unit), (value, published)) in [
                ("in flight", "bytes"),
                ("in flight", "packets"),
                ("rate", "kpps"),
            ]
            .into_iter()
            .zip(values.into_iter().zip(published))
            {
                found.figures([Figure {
                    id: format!("E4, {name}, {what}, {unit}"),
                    published: vec![published],
                    value,
                    unit,
                    constants: vec!["cadence"],
                }]);
            }
        }
        progress("done", 2, 2);
        Ok(())
    }
}
