//! E13: super-packets cut at the last moment, over rates, limits and lengths of the pieces.
//!
//! The experiment of `rr-under-load` with a queue that gives the device pieces of super-packets, beside the
//! same with segments from the sender: what the live table of docs/split.md should show.

use serde::{Deserialize, Serialize};
use serde_json::json;
use taut_path::{AnyLimit, Split};

use crate::error::ScenarioError;
use crate::quantity::{Rate, Time, as_texts, check, check_each};
use crate::results::{one_decimal, per_second};
use crate::rr_under_load::{
    self, CADENCES, DURATIONS, MOST_LIMITS, RATES, RINGS, STREAMS, check_limits, check_splits,
};
use crate::scenario::{Found, Scenario};

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `split`.
    pub scenario: String,
    /// Bulk streams.
    pub streams: u32,
    /// Link rates.
    pub rates: Vec<Rate>,
    /// Descriptors of the ring.
    pub ring: u32,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// The limits.
    #[serde(with = "as_texts")]
    pub limits: Vec<AnyLimit>,
    /// How super-packets go to the device; rows without super-packets stand beside them.
    #[serde(with = "as_texts")]
    pub splits: Vec<Split>,
    /// What is not measured at the start of each row.
    pub warm_up: Time,
    /// What is measured of each row.
    pub duration: Time,
}

/// One row.
pub struct Case {
    rate: Rate,
    /// The limit, and whether the senders hand over super-packets.
    of: rr_under_load::Case,
}

impl Settings {
    fn experiment(&self, rate: Rate) -> rr_under_load::Settings {
        rr_under_load::Settings {
            streams: self.streams,
            rate,
            ring: self.ring,
            cadence: self.cadence,
            warm_up: self.warm_up,
            duration: self.duration,
            ..Scenario::defaults()
        }
    }
}

impl Scenario for Settings {
    const NAME: &'static str = "split";
    const ABOUT: &'static str = "super-packets that a queue cuts at the last moment";
    const FILE: &'static str = include_str!("../files/split.toml");
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("tso", "senders hand over super-packets"),
        (
            "split",
            "how those go to the device; sender: it cuts them itself",
        ),
        ("rr_tps", "transactions per second"),
        (
            "in_flight_p50_bytes",
            "median over time of what is in the ring",
        ),
    ];

    type Case = Case;
    type Outcome = Found;

    fn validate(&self) -> Result<(), String> {
        check("streams", self.streams, *STREAMS.start(), *STREAMS.end())?;
        check("ring", self.ring, *RINGS.start(), *RINGS.end())?;
        check_each("rates", &self.rates, 1..=20, |&rate| {
            check("rates", rate, *RATES.start(), *RATES.end())
        })?;
        let (least, most) = (*CADENCES.start(), *CADENCES.end());
        check("cadence", self.cadence, least, most)?;
        let (least, most) = (*DURATIONS.start(), *DURATIONS.end());
        check("duration", self.duration, least, most)?;
        check("warm_up", self.warm_up, Time(0), most)?;
        check_each("limits", &self.limits, 1..=MOST_LIMITS, |_| Ok(()))?;
        check_limits("limits", &self.limits)?;
        check_splits("splits", &self.splits)
    }

    fn cases(&self, _seed: u64) -> Result<Vec<Case>, ScenarioError> {
        let mut cases = Vec::new();
        for &rate in &self.rates {
            for limit in &self.limits {
                let splits = self.splits.iter().copied().map(Some).chain([None]);
                cases.extend(splits.map(|split| Case {
                    rate,
                    of: rr_under_load::Case {
                        limit: limit.clone(),
                        tso: split.is_some(),
                        split: split.unwrap_or(Split::Off),
                    },
                }));
            }
        }
        Ok(cases)
    }

    fn name(&self, case: &Case) -> String {
        format!("{}, {}", case.rate, case.of.limit)
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Found, ScenarioError> {
        let it = self.experiment(case.rate).run_case(&case.of, seed)?;
        let length_ns = self.duration.0;
        Ok(Found::row(json!({
            "rate": case.rate.to_string(),
            "limit": case.of.limit.to_string(),
            "tso": case.of.tso,
            "split": if case.of.tso { case.of.split.to_string() } else { "sender".to_owned() },
            "rr_tps": one_decimal(per_second(it.latency_ns.len(), length_ns)),
            "latency_p50_us": it.latency_ns.value_at_quantile(0.5) / 1_000,
            "in_flight_p50_bytes": it.in_flight_bytes.p50,
            "goodput_bps": per_second(it.delivered_bytes * 8, length_ns) as u64,
        })))
    }

    fn found(&self, ran: &[(&Case, &Found)]) -> Found {
        Found::of(ran)
    }
}
