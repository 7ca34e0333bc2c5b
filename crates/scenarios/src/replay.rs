//! Replays of a trace under other rules, as rows.

use std::io::BufRead;
use std::sync::OnceLock;

use serde_json::{Value, json};
use taut_sim::replay::{Replayed, Traffic, read, replay};
use taut_sim::single_queue_bench::Rule;

use crate::description::Description;
use crate::error::ScenarioError;
use crate::run::AnyRun;
use crate::scenario::Results;
use crate::validation::check;
use taut_report::document::{DOCUMENT_VERSION, Document, Series};

const NOTE: &str = "Open-loop: the senders do not react to what the rule changes. Bytes in the \
    ring can be compared; what a sender would gain or lose cannot.";

/// Settings of a replay.
#[derive(Debug, Clone)]
pub struct ReplaySettings {
    /// Name of the trace.
    pub file: String,
    /// Selects queues with this text in their names.
    pub row: String,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// The link's rate, instead of the maximum in the trace.
    pub rate_bits_per_s: Option<u64>,
    /// Slots of the ring; each packet takes one.
    pub ring: u32,
}

impl ReplaySettings {
    /// Returns the default rules.
    pub fn default_rules() -> Vec<Rule> {
        vec![Rule::off(), Rule::dql(), Rule::taut()]
    }

    /// The default slots of the ring.
    pub const DEFAULT_RING: u32 = 4096;

    /// The maximum slots of the ring.
    pub const MAX_RING: u32 = 1 << 20;
}

/// Each queue of a trace under each rule, one case each.
pub struct Replay {
    settings: ReplaySettings,
    traffic: Vec<Traffic>,
    outcomes: Vec<OnceLock<Results>>,
}

impl Replay {
    /// Reads the selected queues.
    ///
    /// # Errors
    /// If the trace cannot be read or replayed, or has no such queue.
    pub fn new(trace: impl BufRead, settings: ReplaySettings) -> Result<Self, ScenarioError> {
        let reject = |message: String| Err(ScenarioError::Setting(message));
        check("ring", settings.ring, 1, ReplaySettings::MAX_RING)
            .map_err(ScenarioError::Setting)?;
        if settings.rate_bits_per_s == Some(0) {
            return reject("rate is 0bit; allowed: 1bit or more".to_owned());
        }
        let mut traffic = read(trace)?;
        let names: Vec<String> = traffic.iter().map(|it| it.name.clone()).collect();
        traffic.retain(|it| it.name.contains(&settings.row) && !it.arrivals.is_empty());
        if names.is_empty() {
            return reject("no queue in it".to_owned());
        }
        if traffic.is_empty() {
            let (row, names) = (settings.row, names.join("; "));
            return reject(format!(
                "no row with {row:?} in its name has sent packets; there are: {names}"
            ));
        }
        if let Some(queue) = traffic.iter().find(|it| it.rate_bits_per_s == 0)
            && settings.rate_bits_per_s.is_none()
        {
            return reject(format!(
                "{}: too few completions to determine the link's rate; set it with --rate",
                queue.name
            ));
        }
        let cases = traffic.len() * settings.rules.len();
        Ok(Self {
            outcomes: (0..cases).map(|_| OnceLock::new()).collect(),
            settings,
            traffic,
        })
    }

    fn of(&self, case: usize) -> (&Traffic, &Rule) {
        let rules = &self.settings.rules;
        (
            &self.traffic[case / rules.len()],
            &rules[case % rules.len()],
        )
    }

    fn rate_bits_per_s(&self, queue: &Traffic) -> u64 {
        self.settings
            .rate_bits_per_s
            .unwrap_or(queue.rate_bits_per_s)
    }

    fn parameters(&self) -> Value {
        let queue = |it: &Traffic| {
            json!({
                "queue": it.name,
                "limit": it.limit,
                "packets": it.arrivals.len(),
                "batches": it.batches.len(),
                "in_flight_mean_bytes": it.in_flight_mean_bytes,
                "rate_bits_per_s": self.rate_bits_per_s(it),
            })
        };
        let queues: Vec<Value> = self.traffic.iter().map(queue).collect();
        json!({
            "file": self.settings.file,
            "ring": self.settings.ring,
            "queues": queues,
        })
    }
}

impl AnyRun for Replay {
    fn cases(&self) -> usize {
        self.outcomes.len()
    }

    fn name(&self, case: usize) -> String {
        let (queue, rule) = self.of(case);
        format!("{}: {rule}", queue.name)
    }

    fn run(&self, case: usize) -> Result<(), ScenarioError> {
        let (queue, rule) = self.of(case);
        let rate = self.rate_bits_per_s(queue);
        let replayed = replay(queue, rule, rate, self.settings.ring)
            .map_err(|error| ScenarioError::Setting(error.to_string()))?;
        let results = results(&queue.name, &rule.to_string(), &replayed);
        let _ = self.outcomes[case].set(results);
        Ok(())
    }

    fn document(&self) -> Document {
        let mut found = Results::default();
        for outcome in self.outcomes.iter().filter_map(OnceLock::get) {
            found.extend(outcome);
        }
        Document {
            version: DOCUMENT_VERSION,
            scenario: "replay",
            taut_version: env!("CARGO_PKG_VERSION"),
            notes: self
                .traffic
                .iter()
                .map(traced_note)
                .chain([NOTE.to_owned()])
                .collect(),
            parameters: self.parameters(),
            columns: Description::of("replay").columns(),
            rows: found.rows,
            series: found.series,
            ..Document::default()
        }
    }
}

/// Describes the traced queue itself, as a reference for the accuracy of the replay.
fn traced_note(queue: &Traffic) -> String {
    let (mean, name, limit) = (queue.in_flight_mean_bytes, &queue.name, &queue.limit);
    format!("{name}: {mean} bytes in flight on average in the trace, under {limit}.")
}

fn results(queue: &str, rule: &str, it: &Replayed) -> Results {
    // Without a limit, the column is empty.
    let is_limited = it.limit_p50 < taut_dql::MAX_LIMIT.into();
    let mut found = Results::row(json!({
        "queue": queue,
        "rule": rule,
        "in_flight_bytes": {
            "mean": it.in_flight_mean_bytes,
            "p10": it.in_flight_bytes.p10,
            "p50": it.in_flight_bytes.p50,
            "p90": it.in_flight_bytes.p90,
            "max": it.in_flight_bytes.max,
        },
        "limit": is_limited.then_some(it.limit_p50),
        "backlog_packets": {"p50": it.backlog_packets.p50, "max": it.backlog_packets.max},
        "dry_us": it.dry_ns / 1000,
        "starved": it.starved,
        "end_us": it.end_ns / 1000,
    }));
    // One chart for each queue and rule.
    let row = format!("{queue}: {rule}");
    let series = |name, values: &[u64]| {
        let point = |(at, value): (usize, &u64)| (at as u64 * it.step_ns, *value as f64);
        Series::bytes(&*row, name, values.iter().enumerate().map(point))
    };
    let in_flight = &it.curve.in_flight_bytes;
    found.series.push(series("in flight", in_flight));
    if is_limited {
        found.series.push(series("limit", &it.curve.limit));
    }
    found
}
