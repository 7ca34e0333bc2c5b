//! One rule on one ring and link: every pause, and the same run without one.

use serde_json::{Value, json};

use super::PausesSettings;
use crate::prelude::*;
use taut_path::limit::{Limit, Unit};
use taut_sim::pause_bench::{Pause, PauseBenchConfig, PauseReport, Paused};
use taut_sim::single_queue_bench::Rule;

/// The limit is sampled at these times after the end of a pause, in ns.
const SAMPLES_NS: [u64; 3] = [100_000_000, 1_000_000_000, 10_000_000_000];

/// A run after periodic pauses has this many of their periods at least.
const PERIODS: u64 = 3;

/// One rule on one ring and link.
#[derive(Debug, Clone)]
pub struct PausesCase {
    pub(super) rule: Rule,
    pub(super) ring: u32,
    pub(super) rate: Rate,
    pub(super) pauses: Vec<Pause>,
}

impl PausesSettings {
    pub(super) fn all_cases(&self) -> Vec<(String, PausesCase)> {
        let mut cases = Vec::new();
        for rule in &self.rules {
            let case = |ring, rate, pauses| {
                let rule = rule.clone();
                let name = format!("{rule}, ring {ring}, {rate}");
                let case = PausesCase {
                    rule,
                    ring,
                    rate,
                    pauses,
                };
                (name, case)
            };
            for &ring in &self.rings {
                let rates = self.rates.iter();
                cases.extend(rates.map(|&rate| case(ring, rate, self.single_pauses())));
            }
            let (ring, rate) = (self.periodic_ring, self.periodic_rate);
            let periodic = self.periodic_pauses.iter().zip(&self.periodic_every);
            cases.extend(periodic.map(|(length, every)| {
                let pause = Pause {
                    paused: Paused::Thread,
                    length_ns: length.0,
                    every_ns: Some(every.0),
                };
                case(ring, rate, vec![pause])
            }));
        }
        cases
    }

    fn single_pauses(&self) -> Vec<Pause> {
        let mut pauses = Vec::new();
        for &paused in &self.paused {
            pauses.extend(self.pauses.iter().map(|length| Pause {
                paused,
                length_ns: length.0,
                every_ns: None,
            }));
        }
        pauses
    }

    pub(super) fn bench(
        &self,
        case: &PausesCase,
        pause: Option<Pause>,
        seed: u64,
    ) -> PauseBenchConfig {
        let warm_ns = self.warm_up.0;
        let paused_ns = pause.map_or(0, |pause| pause.length_ns);
        let every_ns = pause.and_then(|pause| pause.every_ns).unwrap_or(0);
        let after_ns = self.after.0.max(every_ns.saturating_mul(PERIODS));
        PauseBenchConfig {
            rate_bits_per_s: case.rate.0,
            ring_slots: case.ring,
            object_bytes: self.size.0 as u32,
            interrupt_ns: self.interval.0,
            seed,
            pause,
            warm_ns,
            mean_ns: self.after.0,
            samples_ns: SAMPLES_NS.to_vec(),
            end_ns: warm_ns.saturating_add(paused_ns).saturating_add(after_ns),
        }
    }

    pub(super) fn row(
        &self,
        case: &PausesCase,
        pause: &Pause,
        report: &PauseReport,
        whole: &PauseReport,
    ) -> Value {
        let is_off = case.rule.limit.is_off();
        let limit_before = (!is_off).then_some(report.limit_before);
        let ratio = |at: usize| {
            let limit = report.limits.get(at)?;
            Some(f64::from(*limit) / f64::from(limit_before?.max(1)))
        };
        // A ring that is too small for its link stops the queue without pauses too.
        let added = report.ring_stops as i64 - whole.ring_stops as i64;
        let ring = ring_units(case.rule.limit.unit(), case.ring, self.size) as f64;
        json!({
            "rule": case.rule.to_string(),
            "paused": pause.paused.to_string(),
            "ring": case.ring,
            "rate_mbit": case.rate.0 as f64 / 1e6,
            "pause_ms": pause.length_ns as f64 / 1e6,
            "every_ms": pause.every_ns.map(|every_ns| every_ns as f64 / 1e6),
            "limit_before": limit_before,
            "ratio_0.1s": ratio(0),
            "ratio_1s": ratio(1),
            "ratio_10s": ratio(2),
            "mean_ratio": report.in_flight_mean / whole.in_flight_mean.max(1.0),
            "held_peak": report.in_flight_peak,
            "limit_peak_of_ring": (!is_off).then(|| f64::from(report.limit_peak) / ring),
            "ring_stops": report.ring_stops,
            "ring_stops_added": added,
            "busy": report.utilisation,
        })
    }
}

/// The amount in the unit of the limit that a full ring of `slots` packets holds.
fn ring_units(unit: Unit, slots: u32, size: Size) -> u64 {
    let units = match unit {
        Unit::Packets => 1,
        Unit::Bytes => size.0,
    };
    u64::from(slots) * units
}
