//! Effect of a thread's pause on a limit: rings, link rates and lengths of the pause.

mod summary;

use std::ops::RangeInclusive;

use taut_path::limit::{Limit, Unit};

use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};
use taut_sim::pause_bench::{Pause, PauseBenchConfig, PauseReport, Paused, observe};
use taut_sim::single_queue_bench::Rule;

/// Maximum values of one setting: a longer table is unreadable.
const MAX_VALUES: usize = 20;

/// Range of a pause that keeps the run short.
const PAUSES: RangeInclusive<Time> = Time(1)..=Time(100_000_000_000);

settings! {
    PausesSettings, "pauses" {
        /// Limits, each of which runs every case.
        #[serde(with = "as_texts")]
        rules: Vec<Rule> => validation::each_once(1..=MAX_VALUES, "rule"),
        /// Packets that the ring holds.
        rings: Vec<u32> => validation::each(1..=MAX_VALUES, validation::ring),
        /// Link rates.
        rates: Vec<Rate> => validation::each(1..=MAX_VALUES, validation::within(validation::RATES)),
        /// Size of every packet.
        size: Size => validation::size,
        /// Mean interrupt interval.
        interval: Time => validation::within(validation::COALESCE_TIMES),
        /// Lengths of the one pause of a case.
        pauses: Vec<Time> => validation::each(1..=MAX_VALUES, validation::within(PAUSES)),
        /// The pausing thread: `sender`, or `thread`, which sends and completes.
        #[serde(with = "as_texts")]
        paused: Vec<Paused> => validation::each_once(1..=2, "thread"),
        /// Lengths of periodic pauses.
        periodic_pauses: Vec<Time> => validation::each(0..=MAX_VALUES, validation::within(PAUSES)),
        /// Their periods, from start to start.
        periodic_every: Vec<Time> where longer_than(periodic_pauses),
        /// The ring of the periodic pauses.
        periodic_ring: u32 => validation::ring,
        /// Link rate of the periodic pauses.
        periodic_rate: Rate => validation::within(validation::RATES),
        /// Warm-up before the first pause.
        warm_up: Time => validation::within(Time(0)..=MAX_DURATION),
        /// Time that a case runs after its pause.
        after: Time => validation::within(Time::ms(1)..=MAX_DURATION),
    }
}

/// Requires one period for each pause, longer than the pause.
fn longer_than(pauses: &[Time]) -> impl Fn(&str, &[Time]) -> Validation {
    move |key, every| {
        validation::each(pauses.len()..=pauses.len(), validation::any)(key, every)?;
        let mut pairs = pauses.iter().zip(every);
        pairs.try_for_each(|(pause, every)| {
            validation::within(Time(pause.0 + 1)..=MAX_DURATION)(key, every)
        })
    }
}

/// The limit is sampled at these times after the end of a pause, in ns.
const SAMPLES_NS: [u64; 3] = [100_000_000, 1_000_000_000, 10_000_000_000];

/// A run after periodic pauses has this many of their periods at least.
const PERIODS: u64 = 3;

/// One rule on one ring and link.
#[derive(Debug, Clone)]
pub struct PausesCase {
    rule: Rule,
    ring: u32,
    rate: Rate,
    pauses: Vec<Pause>,
}

impl PausesSettings {
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

    fn bench(&self, case: &PausesCase, pause: Option<Pause>, seed: u64) -> PauseBenchConfig {
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

    fn row(
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

impl Scenario for PausesSettings {
    type Case = PausesCase;

    fn cases(&self) -> Cases<Self> {
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
        Ok(cases)
    }

    /// Returns a row for each pause, compared with the same run without one.
    fn run(&self, case: &PausesCase, seed: u64) -> Result<Results, ScenarioError> {
        let whole = observe(&self.bench(case, None, seed), &case.rule)?;
        let mut found = Results::default();
        for pause in &case.pauses {
            let report = observe(&self.bench(case, Some(*pause), seed), &case.rule)?;
            found.rows.push(self.row(case, pause, &report, &whole));
        }
        Ok(found)
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
