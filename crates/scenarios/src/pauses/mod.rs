//! Effect of a thread's pause on a limit: rings, link rates and lengths of the pause.
//!
//! A pause delays everything that the paused thread does until the pause ends. The device continues
//! meanwhile: it sends what is in its ring, and its interrupts remain pending. A run is therefore a
//! completion trace. A pause of the thread is a long time between interrupts; a pause of the sender
//! is a long return delay.

mod summary;

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use taut_path::limit::{Limit, Unit};

use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};
use taut_sim::completion_trace::{
    CompletionTrace, Detail, Interval, Intervals, TraceReport, observe,
};
use taut_sim::convergence::limit_at;
use taut_sim::rng::Rng;
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

/// The thread that pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Paused {
    /// The sender alone: completions continue, and nothing new is sent.
    Sender,
    /// The one thread that sends and completes.
    Thread,
}

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// When a thread pauses.
#[derive(Debug, Clone, Copy)]
struct Pause {
    paused: Paused,
    length_ns: u64,
    /// From the start of a pause to the start of the next, in ns; one pause if `None`.
    every_ns: Option<u64>,
}

/// Time from a completion that makes room to the send, in ns: that of a softirq or a wake-up.
const SEND_DELAY_NS: u64 = 2_000;

/// The trace of a run with this many interrupts has 512 MB.
const MAX_INTERRUPTS: u64 = 1 << 25;

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

    /// Returns the end of a run, in ns.
    fn end_ns(&self, pause: Option<&Pause>) -> u64 {
        let pause_ns = pause.map_or(0, |pause| pause.length_ns);
        let every_ns = pause.and_then(|pause| pause.every_ns).unwrap_or(0);
        self.warm_up.0 + pause_ns + self.after.0.max(every_ns * PERIODS)
    }

    /// Runs `case` with the pauses of `pause`, the first at the end of the warm-up.
    fn observe(
        &self,
        case: &PausesCase,
        pause: Option<&Pause>,
        seed: u64,
    ) -> Result<TraceReport, ScenarioError> {
        let end_ns = self.end_ns(pause);
        let trace = CompletionTrace {
            id: String::new(),
            rates: vec![(0, case.rate.0 / 8)],
            sizes: vec![self.size.0 as u32],
            budget: 0,
            poll_ns: 0,
            bursts: Vec::new(),
            warm_ns: self.warm_up.0,
            end_ns,
            utilisation: 1.0,
            changes_ns: Vec::new(),
            queues: vec![self.intervals(pause, seed, end_ns)],
        };
        let detail = Detail {
            slots: case.ring,
            coalesce_ns: case.rule.coalesce_ns,
            sample_ns: 0,
            ..Detail::FULL
        };
        Ok(observe(&trace, case.rule.limit.clone(), detail)?)
    }

    /// Returns the interrupts until `end_ns`. Each differs from the mean interval by at most a
    /// tenth, if no pause delays it.
    fn intervals(&self, pause: Option<&Pause>, seed: u64, end_ns: u64) -> Intervals {
        let (mut rng, mut intervals) = (Rng::new(seed), Intervals::default());
        while intervals.total_ns() < end_ns {
            let from_ns = intervals.total_ns();
            let gap_ns = rng.near(self.interval.0, self.interval.0 / 10);
            let at_ns = self.after_pause(pause, from_ns + gap_ns, false);
            let back_ns = self.after_pause(pause, at_ns + SEND_DELAY_NS, true);
            intervals.push(Interval {
                gap_ns: at_ns - from_ns,
                delay_ns: back_ns - at_ns,
            });
        }
        intervals
    }

    /// Returns the time at which the sender or the completer does the work of `at_ns`, in ns.
    fn after_pause(&self, pause: Option<&Pause>, at_ns: u64, is_sender: bool) -> u64 {
        let pause = pause.filter(|pause| is_sender || pause.paused == Paused::Thread);
        let (Some(pause), Some(since_ns)) = (pause, at_ns.checked_sub(self.warm_up.0)) else {
            return at_ns;
        };
        let start_ns = pause.every_ns.map_or(0, |every| since_ns / every * every);
        at_ns.max(self.warm_up.0 + start_ns + pause.length_ns)
    }

    fn row(
        &self,
        case: &PausesCase,
        pause: &Pause,
        report: &TraceReport,
        whole: &TraceReport,
    ) -> Value {
        let (limits, warm_ns) = (&report.limit_changes, self.warm_up.0);
        let is_off = case.rule.limit.is_off();
        let limit_before = (!is_off).then(|| limit_at(limits, warm_ns));
        let ratio = |after_ns: u64| {
            let at_ns = warm_ns + pause.length_ns + after_ns;
            let limit_before = limit_before.filter(|_| at_ns <= self.end_ns(Some(pause)))?;
            Some(f64::from(limit_at(limits, at_ns)) / f64::from(limit_before.max(1)))
        };
        let changes = limits.iter().filter(|it| it.0 >= warm_ns).map(|it| it.1);
        let limit_peak = limit_before.map(|before| changes.fold(before, u32::max));
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
            "ratio_0.1s": ratio(100_000_000),
            "ratio_1s": ratio(1_000_000_000),
            "ratio_10s": ratio(10_000_000_000),
            "mean_ratio": report.in_flight_mean_bytes / whole.in_flight_mean_bytes.max(1.0),
            "limit_peak_of_ring": limit_peak.map(|peak| f64::from(peak) / ring),
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
        let pauses = cases.iter().flat_map(|(_, case)| &case.pauses);
        let ends_ns = pauses.map(|pause| self.end_ns(Some(pause)));
        let interrupts = ends_ns.max().unwrap_or(0) / self.interval.0;
        if interrupts > MAX_INTERRUPTS {
            return Err(ScenarioError::Setting(format!(
                "interval makes {interrupts} interrupts until the end; allowed: at most \
                 {MAX_INTERRUPTS}"
            )));
        }
        Ok(cases)
    }

    /// Returns a row for each pause, compared with the same run without one.
    fn run(&self, case: &PausesCase, seed: u64) -> Result<Results, ScenarioError> {
        let whole = self.observe(case, None, seed)?;
        let mut found = Results::default();
        for pause in &case.pauses {
            let report = self.observe(case, Some(pause), seed)?;
            found.rows.push(self.row(case, pause, &report, &whole));
        }
        Ok(found)
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
