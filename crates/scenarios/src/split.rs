//! E13: super-packets cut at the last moment, over rates, limits and lengths of the pieces.
//!
//! The experiment of `rr-under-load` with a queue that gives the device pieces of super-packets, beside the
//! same with segments from the sender: what the live table of docs/split.md should show.

use serde::{Deserialize, Serialize};
use serde_json::json;
use taut_path::{AnyLimit, Split};

use super::quantity::{Rate, Time, as_texts, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::rr_under_load::{
    DURATIONS, HOSTS_NS, Outcome, RATES, RINGS, RrUnderLoad, STREAMS, check_limits, one_decimal,
    per_second,
};

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
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

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            streams: 100,
            rates: [20, 100, 1_000].map(|mbit| Rate(mbit * 1_000_000)).to_vec(),
            ring: 1_024,
            cadence: Time::us(250),
            limits: vec![AnyLimit::dql(), AnyLimit::taut()],
            splits: vec![
                Split::Off,
                Split::Time(250_000),
                Split::Time(1_000_000),
                Split::All,
            ],
            warm_up: Time::ms(2_000),
            duration: Time::ms(3_000),
        }
    }
}

impl Settings {
    fn run(
        &self,
        (rate, limit): (Rate, &AnyLimit),
        split: Option<Split>,
        seed: u64,
    ) -> Result<Outcome, ScenarioError> {
        let row = RrUnderLoad {
            streams: self.streams,
            rate_bits_per_s: rate.0,
            slots: self.ring,
            cadence_ns: self.cadence.0,
            qdisc: "pfifo_fast",
            limit: limit.clone(),
            tso: split.is_some(),
            split: split.unwrap_or_default(),
            hosts_ns: HOSTS_NS,
            warm_up_ns: self.warm_up.0,
            duration_ns: self.duration.0,
            seed,
        };
        Ok(row.run()?)
    }

    fn row(
        &self,
        rate: Rate,
        limit: &AnyLimit,
        split: Option<Split>,
        it: &Outcome,
    ) -> serde_json::Value {
        let length_ns = self.duration.0;
        json!({
            "rate": rate.to_string(),
            "limit": limit.to_string(),
            "tso": split.is_some(),
            "split": split.map_or_else(|| "sender".to_owned(), |split| split.to_string()),
            "rr_tps": one_decimal(per_second(it.latency_ns.len(), length_ns)),
            "latency_p50_us": it.latency_ns.value_at_quantile(0.5) / 1_000,
            "in_flight_p50_bytes": it.in_flight_bytes.p50,
            "goodput_bps": per_second(it.delivered_bytes * 8, length_ns) as u64,
        })
    }
}

impl Scenario for Settings {
    const NAME: &'static str = "split";
    const ABOUT: &'static str = "super-packets that a queue cuts at the last moment";
    const HAS_FIGURES: bool = false;
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

    fn validate(&self) -> Result<(), String> {
        check("streams", self.streams, *STREAMS.start(), *STREAMS.end())?;
        check("ring", self.ring, *RINGS.start(), *RINGS.end())?;
        for &rate in &self.rates {
            check("rates", rate, *RATES.start(), *RATES.end())?;
        }
        check(
            "duration",
            self.duration,
            *DURATIONS.start(),
            *DURATIONS.end(),
        )?;
        check_limits("limits", &self.limits)
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let splits = self.splits.iter().copied().map(Some).chain([None]);
        let each = self.splits.len() + 1;
        let all = (self.rates.len() * self.limits.len() * each) as u64;
        let mut done = 0;
        for &rate in &self.rates {
            for limit in &self.limits {
                for split in splits.clone() {
                    progress(&format!("{rate}, {limit}"), done, all);
                    let outcome = self.run((rate, limit), split, seed)?;
                    found.row(self.row(rate, limit, split, &outcome));
                    done += 1;
                }
            }
        }
        progress("done", all, all);
        Ok(())
    }
}
