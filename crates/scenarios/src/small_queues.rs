//! E3: what one stream has below its socket, with small queues and without.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taut_path::AnyLimit;

use super::one_stream::{Budget, OneStream, Seen};
use super::quantity::{Rate, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::single_queue::{check_cadence, check_duration, check_rate, check_ring};
use crate::results::{Figure, Series};
use taut_sim::nic::DescriptorRule;

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `small-queues`.
    pub scenario: String,
    /// Link rates of the stream; rows with and without TSO for each.
    pub rates: Vec<Rate>,
    /// What it may have below its socket: `none`, `rate` or a size; a row for each.
    pub budgets: Vec<Budget>,
    /// Descriptors of its ring.
    pub ring: u32,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// From a flow's place on the deferred list to its run.
    pub deferred: Time,
    /// From the end of a request of high priority to the next.
    pub requests_every: Time,
    /// What is not measured at the start.
    pub warm_up: Time,
    /// What is measured.
    pub duration: Time,
    /// Link rates over which the knee is looked for.
    pub knee_rates: Vec<Rate>,
    /// Budgets over which it is looked for.
    pub knee_budgets: Vec<Budget>,
    /// Descriptors of that card's ring.
    pub knee_ring: u32,
    /// Its times from interrupt to interrupt; the figures are of the first.
    pub knee_cadences: Vec<Time>,
    /// What is not measured at the start there.
    pub knee_warm_up: Time,
    /// What is measured there.
    pub knee_duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        let kib = |kib: u32| Budget::Bytes(kib << 10);
        let knee = [4, 8, 16, 32, 64, 128, 256, 512, 1_024];
        Self {
            scenario: Self::NAME.to_owned(),
            rates: vec![Rate(1_000_000_000), Rate(100_000_000)],
            budgets: vec![
                Budget::None,
                Budget::Bytes(40_000),
                kib(64),
                kib(128),
                Budget::Rate,
            ],
            ring: 1_024,
            cadence: Time::us(250),
            deferred: Time::us(1),
            requests_every: Time::ms(1),
            warm_up: Time::ms(10_000),
            duration: Time::ms(10_000),
            knee_rates: [1, 10, 20, 100]
                .map(|gbit| Rate(gbit * 1_000_000_000))
                .to_vec(),
            knee_budgets: [Budget::None].into_iter().chain(knee.map(kib)).collect(),
            knee_ring: 4_096,
            knee_cadences: vec![Time::us(25), Time::us(50)],
            knee_warm_up: Time::ms(30),
            knee_duration: Time::ms(30),
        }
    }
}

/// A run and the part of the table that it belongs to.
type Part = (&'static str, OneStream);

const STREAM: &str = "stream";
const KNEE: &str = "knee";
const ORPHANS: &str = "orphaning driver";

/// The budget under which a driver that orphans its packets is shown: the limit of 2012.
const ORPHANED_BUDGET: Budget = Budget::Bytes(taut_path::tsq::LIMIT_2012_BYTES);

impl Settings {
    fn parts(&self, seed: u64) -> Vec<Part> {
        let stream = |rate: Rate, tso, budget| OneStream {
            rate_bits_per_s: rate.0,
            tso,
            budget,
            limit: AnyLimit::dql(),
            orphans: false,
            ring: self.ring,
            cadence_ns: self.cadence.0,
            deferred_ns: self.deferred.0,
            requests_every_ns: Some(self.requests_every.0),
            warm_up_ns: self.warm_up.0,
            duration_ns: self.duration.0,
            seed,
        };
        let mut parts = Vec::new();
        for &rate in &self.rates {
            for tso in [true, false] {
                let runs = self.budgets.iter().map(|&budget| stream(rate, tso, budget));
                parts.extend(runs.map(|run| (STREAM, run)));
            }
        }
        for &cadence in &self.knee_cadences {
            for &rate in &self.knee_rates {
                parts.extend(self.knee_budgets.iter().map(|&budget| {
                    let run = OneStream {
                        ring: self.knee_ring,
                        cadence_ns: cadence.0,
                        requests_every_ns: None,
                        warm_up_ns: self.knee_warm_up.0,
                        duration_ns: self.knee_duration.0,
                        ..stream(rate, true, budget)
                    };
                    (KNEE, run)
                }));
            }
        }
        for (orphans, limit) in [
            (false, AnyLimit::off()),
            (true, AnyLimit::off()),
            (true, AnyLimit::dql()),
        ] {
            let run = OneStream {
                limit,
                orphans,
                ..stream(self.rates[0], false, ORPHANED_BUDGET)
            };
            parts.push((ORPHANS, run));
        }
        parts
    }
}

fn row(part: &str, run: &OneStream, seen: &Seen, kept: Option<f64>) -> Value {
    let us = |ns: u64| ns as f64 / 1e3;
    json!({
        "part": part,
        "rate_bits_per_s": run.rate_bits_per_s,
        "cadence_us": us(run.cadence_ns),
        "tso": run.tso,
        "budget": run.budget,
        "limit": run.limit.to_string(),
        "orphans": run.orphans,
        "throughput_bits_per_s": seen.throughput_bits_per_s,
        "kept_share": kept,
        "link_share": seen.throughput_bits_per_s / run.most_bits_per_s(),
        "backlog_mean_bytes": seen.backlog_mean_bytes,
        "backlog_p90_bytes": seen.backlog_bytes.p90,
        "backlog_max_bytes": seen.backlog_bytes.max,
        "backlog_p90_us": us(seen.backlog_ns.p90),
        "backlog_max_us": us(seen.backlog_ns.max),
        "charged_max_bytes": seen.charged_max_bytes,
        "packet_mean_bytes": seen.packet_mean_bytes,
        "round_trip_mean_us": seen.round_trip_mean_us,
        "window_mean_bytes": seen.window_mean_bytes,
        "socket_memory_mean_bytes": seen.socket_memory_mean_bytes,
        "requests_p50_us": seen.requests_p50_us,
        "requests_p99_us": seen.requests_p99_us,
        "throttled": seen.throttled,
        "deferred": seen.deferred,
        "drops": seen.drops,
        "orphaned_packets": seen.orphaned_packets,
    })
}

/// What was published of the row, if anything. `kept` is the part of the throughput without a
/// budget.
fn figures(part: &str, run: &OneStream, seen: &Seen, kept: f64) -> Vec<Figure> {
    let kib = |kib: u32| Budget::Bytes(kib << 10);
    let buffering_ms = seen.backlog_ns.p90 as f64 / 1e6;
    let backlog_bytes = seen.backlog_bytes.p90 as f64;
    let mbit = run.rate_bits_per_s / 1_000_000;
    let (id, published, value, unit): (_, &[f64], _, _) = match (part, mbit, run.tso, run.budget) {
        (STREAM, 1_000, false, budget) if budget == kib(128) => {
            ("1gbit, 128k, buffering", &[0.0, 1.0], buffering_ms, "ms")
        }
        (STREAM, 100, false, budget) if budget == kib(128) => {
            ("100mbit, 128k, buffering", &[0.0, 8.0], buffering_ms, "ms")
        }
        (STREAM, 100, false, Budget::None) => {
            ("100mbit, none, buffering", &[130.0], buffering_ms, "ms")
        }
        (STREAM, 1_000, true, Budget::None) => {
            ("1gbit, none, backlog", &[3e6], backlog_bytes, "bytes")
        }
        (STREAM, 1_000, true, Budget::Bytes(40_000)) => {
            let bytes = seen.packet_mean_bytes;
            ("1gbit, 40000, super-packet", &[20e3], bytes, "bytes")
        }
        (KNEE, 10_000, _, budget) if budget == kib(64) => {
            ("10gbit, 64k, throughput kept", &[1.0], kept, "")
        }
        (KNEE, 20_000, _, budget) if budget == kib(128) => {
            ("20gbit, 128k, throughput kept", &[1.0], kept, "")
        }
        _ => return Vec::new(),
    };
    vec![Figure {
        id: format!("E3, {id}"),
        published: published.to_vec(),
        value,
        unit,
        constants: vec![if part == KNEE {
            "knee_cadences"
        } else {
            "cadence"
        }],
    }]
}

impl Scenario for Settings {
    const NAME: &'static str = "small-queues";
    const ABOUT: &'static str = "one stream with small queues and without (E3)";
    const HAS_FIGURES: bool = true;

    fn validate(&self) -> Result<(), String> {
        check("number of rates", self.rates.len(), 1, 10)?;
        check("number of budgets", self.budgets.len(), 1, 20)?;
        check("number of knee_rates", self.knee_rates.len(), 0, 10)?;
        check("number of knee_budgets", self.knee_budgets.len(), 0, 40)?;
        for &rate in &self.rates {
            check_rate("rates", rate)?;
        }
        for &rate in &self.knee_rates {
            check_rate("knee_rates", rate)?;
        }
        for (key, ring) in [("ring", self.ring), ("knee_ring", self.knee_ring)] {
            check_ring(key, ring)?;
            let least = DescriptorRule::E1000.restart_slots(ring);
            check(key, ring, least, u32::MAX)?;
        }
        check("deferred", self.deferred, Time(0), Time::ms(1_000))?;
        check(
            "requests_every",
            self.requests_every,
            Time::us(1),
            Time::ms(10_000),
        )?;
        check_duration("warm_up", self.warm_up)?;
        check_duration("duration", self.duration)?;
        check_cadence("cadence", self.cadence, self.duration)?;
        check("number of knee_cadences", self.knee_cadences.len(), 1, 10)?;
        check_duration("knee_warm_up", self.knee_warm_up)?;
        check_duration("knee_duration", self.knee_duration)?;
        for &cadence in &self.knee_cadences {
            check_cadence("knee_cadences", cadence, self.knee_duration)?;
        }
        Ok(())
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let parts = self.parts(seed);
        let total = parts.len() as u64;
        // Of the last row without a budget: those after it are compared with it.
        let mut unlimited = None::<(&str, f64)>;
        for (done, (part, run)) in parts.iter().enumerate() {
            progress(&run.budget.to_string(), done as u64, total);
            let seen = run.run()?;
            if run.budget == Budget::None {
                unlimited = Some((part, seen.throughput_bits_per_s));
            }
            let kept = unlimited
                .filter(|(of, _)| of == part)
                .map(|(_, most)| seen.throughput_bits_per_s / most);
            let is_published = *part != KNEE || run.cadence_ns == self.knee_cadences[0].0;
            if is_published {
                let kept = kept.unwrap_or(0.0);
                found.figures(figures(part, run, &seen, kept));
            }
            found.row(row(part, run, &seen, kept));
            if *part == STREAM {
                found.series([series(run, seen)]);
            }
        }
        progress("done", total, total);
        Ok(())
    }
}

/// What was below the socket over the measured time.
fn series(run: &OneStream, seen: Seen) -> Series {
    let tso = if run.tso { "TSO" } else { "no TSO" };
    let mbit = run.rate_bits_per_s / 1_000_000;
    Series {
        row: format!("{mbit} Mbit/s, {tso}, {}", run.budget),
        name: "backlog",
        unit: "bytes",
        points: seen.backlog_over_time,
    }
}
