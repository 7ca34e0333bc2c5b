//! E13: super-packets cut at the last moment, over rates, limits and lengths of the pieces.
//!
//! The experiment of `rr-under-load` with a queue that gives the device pieces of super-packets, beside the
//! same with segments from the sender: what the live table of docs/split.md should show.

use serde_json::json;
use taut_path::{AnyLimit, Split};

use crate::prelude::*;
use crate::rr_under_load;
use crate::serde_text::as_texts;
use crate::stated::Stated;
use taut_report::number::one_decimal;

settings! {
    "split" {
        /// Bulk streams.
        streams: u32 => allowed::within(allowed::STREAMS),
        /// Link rates.
        rates: Vec<Rate> => allowed::each(1..=20, allowed::within(allowed::RATES)),
        /// Descriptors of the ring.
        ring: u32 => allowed::within(allowed::RINGS),
        /// From interrupt to interrupt.
        cadence: Time => allowed::within(allowed::CADENCES),
        /// The limits.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => allowed::limits(1),
        /// How super-packets go to the device; rows without super-packets stand beside them.
        #[serde(with = "as_texts")]
        splits: Vec<Split> => allowed::splits,
        /// What is not measured at the start of each row.
        warm_up: Time => allowed::within(allowed::WARM_UPS),
        /// What is measured of each row.
        duration: Time => allowed::within(allowed::DURATIONS),
    }
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
            ..Stated::defaults()
        }
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str = "super-packets that a queue cuts at the last moment";
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
