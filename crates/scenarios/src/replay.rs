//! Replays of a trace under other rules, as rows.

use std::io::BufRead;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use taut_sim::replay::{Replayed, Traffic, read, replay};
use taut_sim::single_queue_bench::Rule;

use crate::error::ScenarioError;
use crate::run::{Run, SharedRun};
use crate::scenario::{Cases, Results, Scenario};
use crate::validation::check;
use taut_report::document::Series;

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

/// Each queue of a trace under each rule, one case each. Its parameters describe the trace.
#[derive(Serialize)]
struct Replay {
    file: String,
    ring: u32,
    queues: Vec<Value>,
    #[serde(skip)]
    rules: Vec<Rule>,
    #[serde(skip)]
    traffic: Vec<Traffic>,
}

/// Reads the selected queues of a trace, and prepares their replay.
///
/// # Errors
/// If the trace cannot be read or replayed, or has no such queue.
pub fn prepare(trace: impl BufRead, settings: ReplaySettings) -> Result<SharedRun, ScenarioError> {
    let traffic = selected(trace, &settings)?;
    let replay = Replay {
        file: settings.file,
        ring: settings.ring,
        queues: traffic.iter().map(parameters).collect(),
        rules: settings.rules,
        traffic,
    };
    Ok(Arc::new(Run::new("replay", replay, 0)?))
}

/// Returns the selected queues, with the rate of the settings.
fn selected(trace: impl BufRead, settings: &ReplaySettings) -> Result<Vec<Traffic>, ScenarioError> {
    let reject = |message: String| Err(ScenarioError::Setting(message));
    check("ring", settings.ring, 1, ReplaySettings::MAX_RING).map_err(ScenarioError::Setting)?;
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
        let (row, names) = (&settings.row, names.join("; "));
        return reject(format!(
            "no row with {row:?} in its name has sent packets; there are: {names}"
        ));
    }
    for queue in &mut traffic {
        queue.rate_bits_per_s = settings.rate_bits_per_s.unwrap_or(queue.rate_bits_per_s);
        if queue.rate_bits_per_s == 0 {
            return reject(format!(
                "{}: too few completions to determine the link's rate; set it with --rate",
                queue.name
            ));
        }
    }
    Ok(traffic)
}

fn parameters(queue: &Traffic) -> Value {
    json!({
        "queue": queue.name,
        "limit": queue.limit,
        "packets": queue.arrivals.len(),
        "batches": queue.batches.len(),
        "in_flight_mean_bytes": queue.in_flight_mean_bytes,
        "rate_bits_per_s": queue.rate_bits_per_s,
    })
}

impl Scenario for Replay {
    /// The index of a queue, and a rule.
    type Case = (usize, Rule);

    fn cases(&self) -> Cases<Self> {
        let mut cases = Vec::new();
        for (at, queue) in self.traffic.iter().enumerate() {
            let rules = self.rules.iter();
            cases.extend(rules.map(|rule| (row_name(queue, rule), (at, rule.clone()))));
        }
        Ok(cases)
    }

    fn run(&self, (at, rule): &Self::Case, _seed: u64) -> Result<Results, ScenarioError> {
        let queue = &self.traffic[*at];
        let replayed = replay(queue, rule, queue.rate_bits_per_s, self.ring)
            .map_err(|error| ScenarioError::Setting(error.to_string()))?;
        Ok(results(queue, rule, &replayed))
    }

    fn complete(&self, results: &mut Results) {
        results.notes = self.traffic.iter().map(traced_note).collect();
        results.notes.push(NOTE.to_owned());
    }
}

fn row_name(queue: &Traffic, rule: &Rule) -> String {
    format!("{}: {rule}", queue.name)
}

/// Describes the traced queue itself, as a reference for the accuracy of the replay.
fn traced_note(queue: &Traffic) -> String {
    let (mean, name, limit) = (queue.in_flight_mean_bytes, &queue.name, &queue.limit);
    format!("{name}: {mean} bytes in flight on average in the trace, under {limit}.")
}

fn results(queue: &Traffic, rule: &Rule, it: &Replayed) -> Results {
    // Without a limit, the column is empty.
    let is_limited = it.limit_p50 < taut_dql::MAX_LIMIT.into();
    let mut found = Results::row(json!({
        "queue": queue.name,
        "rule": rule.to_string(),
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
    let row = row_name(queue, rule);
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
