//! The experiment as a scenario: its settings, its rows, its figures.

use std::ops::RangeInclusive;

use taut_path::{AnyLimit, Split, qdisc};

use super::{Case, Latency, Only, Outcome, Row, figures, is_published};
use crate::allowed::Verdict;
use crate::prelude::*;
use crate::quantity::{as_text, as_texts};
use crate::results::one_decimal;
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

/// What is not measured of it at first.
pub const WARM_UPS: RangeInclusive<Time> = Time(0)..=*DURATIONS.end();

/// More rows than this are not read side by side.
pub const MOST_LIMITS: usize = 20;

settings! {
    "rr-under-load" {
        /// Bulk streams.
        streams: u32 => allowed::within(STREAMS),
        /// Link rate.
        rate: Rate => allowed::within(RATES),
        /// Descriptors of the ring.
        ring: u32 => allowed::within(RINGS),
        /// From interrupt to interrupt.
        cadence: Time => allowed::within(CADENCES),
        /// The discipline, as `tc` spells it.
        qdisc: String => discipline,
        /// What holds the queue back in the rows with a limit, a row for each.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => check_limits,
        /// How super-packets go to the device, a row for each.
        #[serde(with = "as_texts")]
        splits: Vec<Split> => check_splits,
        /// The time of a transaction that is not spent in the device queue.
        hosts: Time => allowed::within(Time(2 * DELAY_NS)..=Time::ms(10_000)),
        /// What is not measured at the start of each row.
        warm_up: Time => allowed::within(WARM_UPS),
        /// What is measured of each row.
        duration: Time => allowed::within(DURATIONS),
        /// The rows that are run.
        #[serde(with = "as_text")]
        rows: Only where leaving_any(limits),
    }
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
pub fn check_limits(key: &str, limits: &[AnyLimit]) -> Verdict {
    allowed::each_once(0..=MOST_LIMITS, "limit")(key, limits)
}

/// Whether there is a way for super-packets, and each of `splits`, which `key` names, is a row of its own.
///
/// # Errors
/// The first that is not, and what is allowed.
pub fn check_splits(key: &str, splits: &[Split]) -> Verdict {
    allowed::each_once(1..=MOST_LIMITS, "way")(key, splits)
}

/// Rows of which `limits` leave any to run.
fn leaving_any(limits: &[AnyLimit]) -> impl Fn(&str, &Only) -> Verdict {
    move |key, rows| {
        if rows.cases(limits, &[Split::Off]).is_empty() {
            return Err(format!(
                "{key} {rows} leaves no row: no limit is said but off; allowed with it: bql=off"
            ));
        }
        Ok(())
    }
}

/// A discipline as `tc` spells it.
fn discipline(key: &str, spelled: &String) -> Verdict {
    let found = qdisc::by_name(spelled).map(drop);
    found.map_err(|error| format!("{key} is {spelled:?}: {error}"))
}

impl Scenario for Settings {
    const ABOUT: &'static str =
        "bulk TCP streams saturate a link while one request/response runs at high priority (E1)";
    const HAS_FIGURES: bool = true;

    type Case = Case;
    type Outcome = Outcome;

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
