//! The experiment as a scenario: its settings, its rows, its figures.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use taut_path::{AnyLimit, Split, qdisc};

use super::{Case, Latency, Only, Outcome, Row, figures, is_published};
use crate::error::ScenarioError;
use crate::quantity::{Rate, Time, as_text, as_texts, check};
use crate::results::{one_decimal, per_second};
use crate::scenario::{Found, Scenario};
use crate::tracing::TraceRow;
use crate::two_hosts::DELAY_NS;
use taut_sim::trace::{Recorder, Tracer};

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
pub const MOST_LIMITS: usize = 20;

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
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
    /// How super-packets go to the device, a row for each.
    #[serde(with = "as_texts")]
    pub splits: Vec<Split>,
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

impl Settings {
    /// The rows of what was run, as the lab prints its own.
    pub fn rows_of(&self, ran: &[(&Case, &Outcome)]) -> Vec<Row> {
        let row = |&(case, outcome): &(&Case, &Outcome)| self.row(case, outcome);
        ran.iter().map(row).collect()
    }

    /// Whether the published figures are of this experiment.
    pub fn is_published(&self) -> bool {
        is_published(self.streams, self.rate.0, self.ring)
    }

    /// When a row ends, in ns of virtual time: the warm-up is part of it.
    pub fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    fn row(&self, case: &Case, outcome: &Outcome) -> Row {
        let latency_ns = &outcome.latency_ns;
        Row {
            limit: case.limit.clone(),
            bql: case.bql(),
            tso: case.tso,
            split: case.split,
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

/// Whether there is a way for super-packets, and each of `splits`, which `key` names, is a row of its own.
///
/// # Errors
/// The first that is not, and what is allowed.
pub fn check_splits(key: &str, splits: &[Split]) -> Result<(), String> {
    for (at, split) in splits.iter().enumerate() {
        if splits[..at].contains(split) {
            return Err(format!(
                "{key} has {split} twice, again at position {}; say each way once",
                at + 1
            ));
        }
    }
    check(
        &format!("{key}, their number"),
        splits.len(),
        1,
        MOST_LIMITS,
    )
}

/// Whether `rows` and `limits` leave anything to run.
///
/// # Errors
/// What they leave, and what is allowed.
pub fn check_cases(rows: Only, limits: &[AnyLimit]) -> Result<(), String> {
    if rows.cases(limits, &[Split::Off]).is_empty() {
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
    const FILE: &'static str = include_str!("../../files/rr-under-load.toml");
    const HAS_FIGURES: bool = true;

    type Case = Case;
    type Outcome = Outcome;

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
        check_splits("splits", &self.splits)?;
        check_cases(self.rows, &self.limits)?;
        match qdisc::by_name(&self.qdisc) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("qdisc is {:?}: {error}", self.qdisc)),
        }
    }

    fn cases(&self, _seed: u64) -> Result<Vec<Case>, ScenarioError> {
        Ok(self.rows.cases(&self.limits, &self.splits))
    }

    fn name(&self, case: &Case) -> String {
        case.to_string()
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Outcome, ScenarioError> {
        self.run_case(case, seed)
    }

    /// The curves are drawn from the outcomes, not from series.
    fn found(&self, ran: &[(&Case, &Outcome)]) -> Found {
        let rows = self.rows_of(ran);
        let value = |row: &Row| serde_json::to_value(row).unwrap_or_default();
        Found {
            figures: if self.is_published() {
                figures(&rows, &["cadence"], &["cadence", "hosts"])
            } else {
                Vec::new()
            },
            rows: rows.iter().map(value).collect(),
            ..Found::default()
        }
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |case: Case| {
            let (name, limit) = (case.to_string(), case.limit.to_string());
            let case_of_wire = case.clone();
            let trace = move |recorder: &mut Recorder<'_>| {
                let mut world = self.world(&case, seed, Tracer::of_client(recorder))?;
                Ok(world.run_until(self.end_ns())?)
            };
            let case = case_of_wire;
            TraceRow::new(name, limit, trace).with_wire(self.rate.0, move |seen| {
                let mut world = self.world(&case, seed, |_| ())?;
                Ok(world.run_until_seen(self.end_ns(), seen)?)
            })
        };
        self.rows
            .cases(&self.limits, &self.splits)
            .into_iter()
            .map(row)
            .collect()
    }
}
