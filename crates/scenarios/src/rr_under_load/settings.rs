//! The experiment as a scenario: its settings, its rows, its figures.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use taut_path::{AnyLimit, Split, qdisc};

use super::{
    Case, DELAY_NS, HOSTS_NS, Latency, Only, Outcome, Row, RrUnderLoad, WARM_UP_NS, figures,
    is_published, one_decimal, per_second,
};
use crate::quantity::{Rate, Time, as_text, as_texts, check};
use crate::registry::{Findings, Found, Progress, Scenario, ScenarioError};
use crate::tracing::TraceRow;
use taut_sim::trace::Recorder;

/// Most streams: live, two sockets each, in one process with the usual hard limit of descriptors.
pub const STREAMS: RangeInclusive<u32> = 1..=4_000;

/// Below, TCP's timers outlast the run; above, two cores cannot keep up live by far.
pub const RATES: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(100_000_000_000);

/// Below, no super-packet fits in.
pub const RINGS: RangeInclusive<u32> = 32..=65_536;

/// From what a timer can do live to what TCP takes for a lost link.
pub const CADENCES: RangeInclusive<Time> = Time(1_000)..=Time(100_000_000);

/// Long enough for some transactions in every row, and short enough to end.
pub const DURATIONS: RangeInclusive<Time> = Time(500_000_000)..=Time(3_600_000_000_000);

/// More rows than this are not read side by side.
const MOST_LIMITS: usize = 20;

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `rr-under-load`.
    pub scenario: String,
    /// Bulk streams.
    pub streams: u32,
    /// Link rate.
    pub rate: Rate,
    /// Descriptors of the ring.
    pub ring: u32,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// The discipline, as `tc` spells it.
    pub qdisc: String,
    /// What holds the queue back in the rows with a limit, a row for each.
    #[serde(with = "as_texts")]
    pub limits: Vec<AnyLimit>,
    /// The time of a transaction that is not spent in the device queue.
    pub hosts: Time,
    /// What is not measured at the start of each row.
    pub warm_up: Time,
    /// What is measured of each row.
    pub duration: Time,
    /// The rows that are run.
    #[serde(with = "as_text")]
    pub rows: Only,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            streams: 100,
            rate: Rate(1_000_000_000),
            ring: 1_024,
            cadence: Time::us(250),
            qdisc: "pfifo_fast".to_owned(),
            limits: vec![AnyLimit::dql(), AnyLimit::taut()],
            hosts: Time(HOSTS_NS),
            warm_up: Time(WARM_UP_NS),
            duration: Time::ms(5_000),
            rows: Only::default(),
        }
    }
}

/// One row that was run.
#[derive(Debug)]
pub struct Ran {
    /// Which row it is.
    pub case: Case,
    /// What it gave.
    pub outcome: Outcome,
}

impl Settings {
    /// Runs the wanted rows and gives each to `ran` once it is finished. Settings that were not
    /// validated may be refused here.
    ///
    /// # Errors
    /// If a setting cannot be.
    pub fn run_rows(
        &self,
        seed: u64,
        progress: Progress,
        ran: &mut dyn FnMut(Ran),
    ) -> Result<(), ScenarioError> {
        let cases = self.cases();
        let all = cases.len() as u64;
        for (done, case) in cases.into_iter().enumerate() {
            progress(&case.to_string(), done as u64, all);
            let outcome = self.experiment(&case, seed).run()?;
            ran(Ran { case, outcome });
        }
        progress("done", all, all);
        Ok(())
    }

    /// The rows of what was run, as the lab prints its own.
    pub fn rows_of(&self, ran: &[Ran]) -> Vec<Row> {
        ran.iter().map(|ran| self.row(ran)).collect()
    }

    /// What was run as the parts of a document. The curves are drawn from the outcomes, not from
    /// series.
    pub fn found(&self, ran: &[Ran]) -> Found {
        let rows = self.rows_of(ran);
        Found {
            figures: if self.is_published() {
                figures(&rows, &["cadence"], &["cadence", "hosts"])
            } else {
                Vec::new()
            },
            rows: rows
                .iter()
                .map(|row| serde_json::to_value(row).unwrap_or_default())
                .collect(),
            ..Found::default()
        }
    }

    /// Whether the published figures are of this experiment.
    pub fn is_published(&self) -> bool {
        is_published(self.streams, self.rate.0, self.ring)
    }

    /// When a row ends, in ns of virtual time: the warm-up is part of it.
    pub fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    fn cases(&self) -> Vec<Case> {
        self.rows.cases(&self.limits)
    }

    fn experiment(&self, case: &Case, seed: u64) -> RrUnderLoad<'_> {
        RrUnderLoad {
            streams: self.streams,
            rate_bits_per_s: self.rate.0,
            slots: self.ring,
            cadence_ns: self.cadence.0,
            qdisc: &self.qdisc,
            limit: case.limit.clone(),
            tso: case.tso,
            split: Split::Off,
            hosts_ns: self.hosts.0,
            warm_up_ns: self.warm_up.0,
            duration_ns: self.duration.0,
            seed,
        }
    }

    fn row(&self, ran: &Ran) -> Row {
        let Ran { case, outcome } = ran;
        let latency_ns = &outcome.latency_ns;
        Row {
            limit: case.limit.clone(),
            bql: case.bql(),
            tso: case.tso,
            split: None,
            inflight_bytes: outcome.in_flight_bytes,
            waiting_packets: outcome.waiting_packets,
            limit_bytes_p50: case.limits_bytes().then_some(outcome.limit_p50),
            rr_tps: one_decimal(per_second(latency_ns.len(), self.duration.0)),
            rr_latency_us: Latency::of(latency_ns),
            goodput_bps: per_second(outcome.delivered_bytes * 8, self.duration.0) as u64,
            cpu_percent: None,
            drops: outcome.drops,
            marks: outcome.marks,
            retransmits: outcome.retransmits,
            stalls: None,
            timers_late_us: None,
            curve: outcome.curve.clone(),
        }
    }
}

/// Whether each of `limits`, which `key` names, is a row of its own.
///
/// # Errors
/// The first that is not, and what is allowed.
pub fn check_limits(key: &str, limits: &[AnyLimit]) -> Result<(), String> {
    for (at, limit) in limits.iter().enumerate() {
        if limits[..at].contains(limit) {
            return Err(format!(
                "{key} has {limit} twice, again at position {}; say each limit once",
                at + 1
            ));
        }
    }
    check(
        &format!("{key}, their number"),
        limits.len(),
        0,
        MOST_LIMITS,
    )
}

/// Whether `rows` and `limits` leave anything to run.
///
/// # Errors
/// What they leave, and what is allowed.
pub fn check_cases(rows: Only, limits: &[AnyLimit]) -> Result<(), String> {
    if rows.cases(limits).is_empty() {
        return Err(format!(
            "rows {rows} leaves no row: no limit is said but off; allowed with it: bql=off"
        ));
    }
    Ok(())
}

fn check_in<T: PartialOrd + Copy + std::fmt::Display>(
    key: &str,
    value: T,
    allowed: &RangeInclusive<T>,
) -> Result<(), String> {
    check(key, value, *allowed.start(), *allowed.end())
}

impl Scenario for Settings {
    const NAME: &'static str = "rr-under-load";
    const ABOUT: &'static str =
        "bulk TCP streams saturate a link while one request/response runs at high priority (E1)";
    const HAS_FIGURES: bool = true;

    fn validate(&self) -> Result<(), String> {
        check_in("streams", self.streams, &STREAMS)?;
        check_in("rate", self.rate, &RATES)?;
        check_in("ring", self.ring, &RINGS)?;
        check_in("cadence", self.cadence, &CADENCES)?;
        check_in("duration", self.duration, &DURATIONS)?;
        check("warm_up", self.warm_up, Time(0), *DURATIONS.end())?;
        let least_hosts = Time(2 * DELAY_NS);
        check("hosts", self.hosts, least_hosts, Time::ms(10_000))?;
        check_limits("limits", &self.limits)?;
        check_cases(self.rows, &self.limits)?;
        match qdisc::by_name(&self.qdisc) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("qdisc is {:?}: {error}", self.qdisc)),
        }
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |case: Case| {
            let (name, limit) = (case.to_string(), case.limit.to_string());
            let trace = move |recorder: &mut Recorder<'_>| {
                self.experiment(&case, seed).trace(recorder)?;
                Ok(())
            };
            TraceRow::new(name, limit, trace)
        };
        self.cases().into_iter().map(row).collect()
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let mut ran = Vec::new();
        self.run_rows(seed, progress, &mut |row| ran.push(row))?;
        let Found { rows, figures, .. } = self.found(&ran);
        found.replace_rows(rows);
        found.figures(figures);
        Ok(())
    }
}
