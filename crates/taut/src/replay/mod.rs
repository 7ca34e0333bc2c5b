//! `taut replay`: the traffic of a trace under other rules.

pub mod options;

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use serde_json::{Value, json};
use taut_linux::observe::LIMIT_MAX_UNSET;
use taut_scenarios::results::{DOCUMENT_VERSION, Document, Series};
use taut_sim::lane::Rule;
use taut_sim::replay::{Replayed, Traffic, TrafficError, read, replay};

use crate::output::{self, Form};
use crate::report::chart::charts;
use crate::report::page::{Origin, Page};
use crate::report::text::text;
use crate::talk::say;
use crate::{exit, interrupt, stdout};
use options::Replay;

const NOTE: &str = "Open-loop: the senders do not react to what the rule changes. Bytes in the ring \
    can be compared; what a sender would gain or lose cannot.";

const COLUMNS: &[(&str, &str)] = &[
    ("queue", "the row of the trace"),
    (
        "in_flight_bytes",
        "given to the device and not reported complete, over time",
    ),
    ("limit", "its median, in the limit's units"),
    ("waiting_packets", "in the discipline, over time"),
    (
        "dry_us",
        "time that the link had nothing to send while packets waited above",
    ),
    (
        "starved",
        "rounds that left the device empty while the limit held the sender back",
    ),
];

/// `taut replay`.
pub fn run(options: &Replay) -> ExitCode {
    let traffic = match traffic(options) {
        Ok(traffic) => traffic,
        Err(code) => return code,
    };
    if let Err(code) = output::check("report", options.report.as_deref()) {
        return code;
    }
    let rules = options.rules();
    let rate = options.rate;
    let ring = options.ring;
    let finished = interrupt::Finished::new();
    let ran = interrupt::watch({
        let finished = finished.clone();
        let traffic = traffic.clone();
        move || {
            for queue in &traffic {
                // The rule of the trace first: how far the replay can be trusted.
                for rule in &rules {
                    let rate = rate.unwrap_or(queue.rate_bits_per_s);
                    let replayed = replay(queue, rule, rate, ring);
                    finished.push((queue.name.clone(), rule.to_string(), replayed));
                }
            }
        }
    });
    let interrupt = match ran {
        Ok(ran) => ran.err(),
        Err(error) => {
            say!("taut: {error}");
            return ExitCode::from(exit::FAILED);
        }
    };
    let mut document = document(options, &traffic);
    document.interrupted = interrupt.is_some();
    for (queue, rule, replayed) in finished.take() {
        match replayed {
            Ok(replayed) => push(&mut document, &queue, &rule, &replayed),
            Err(error) => {
                say!("taut: {error}");
                return ExitCode::from(exit::USAGE);
            }
        }
    }
    let form = if options.json {
        Form::Json
    } else {
        Form::Table
    };
    let shown = output::emit(
        &document,
        form,
        options.report.as_deref(),
        || text(&document, stdout::columns()),
        || html(&document, options),
    );
    match interrupt {
        Some(interrupt) => output::interrupted(interrupt, document.rows.len(), shown),
        None => shown,
    }
}

/// The queues of the trace that were asked for.
fn traffic(options: &Replay) -> Result<Vec<Traffic>, ExitCode> {
    let path = options.file.display();
    let fail = |code: u8, error: String| {
        say!("taut: {path}: {error}");
        ExitCode::from(code)
    };
    let file = File::open(&options.file).map_err(|error| fail(exit::FAILED, error.to_string()))?;
    let mut traffic = read(BufReader::new(file)).map_err(|error| match error {
        TrafficError::Read(taut_sim::trace::ReadError::Io(_)) => {
            fail(exit::FAILED, error.to_string())
        }
        _ => fail(exit::USAGE, error.to_string()),
    })?;
    let names: Vec<String> = traffic.iter().map(|it| it.name.clone()).collect();
    traffic.retain(|it| it.name.contains(&options.row) && !it.arrivals.is_empty());
    if traffic.is_empty() {
        let error = match names.len() {
            0 => "no queue in it".to_owned(),
            _ => format!(
                "nothing was sent in a row with {:?} in its name; there are: {}",
                options.row,
                names.join("; ")
            ),
        };
        return Err(fail(exit::USAGE, error));
    }
    if let Some(queue) = traffic.iter().find(|it| it.rate_bits_per_s == 0)
        && options.rate.is_none()
    {
        let error = format!(
            "{}: too little was finished to tell the link's rate; say it with --rate",
            queue.name
        );
        return Err(fail(exit::USAGE, error));
    }
    Ok(traffic)
}

/// What the trace itself has: how far the replay can be trusted.
fn traced_note(queue: &Traffic) -> String {
    let (mean, name, limit) = (queue.in_flight_mean_bytes, &queue.name, &queue.limit);
    format!("{name}: {mean} bytes in flight in the mean when it was traced, under {limit}.")
}

fn document(options: &Replay, traffic: &[Traffic]) -> Document {
    let queues: Vec<Value> = traffic
        .iter()
        .map(|it| {
            json!({
                "queue": it.name,
                "limit": it.limit,
                "packets": it.arrivals.len(),
                "rounds": it.rounds.len(),
                "in_flight_mean_bytes": it.in_flight_mean_bytes,
                "rate_bits_per_s": options.rate.unwrap_or(it.rate_bits_per_s),
            })
        })
        .collect();
    Document {
        version: DOCUMENT_VERSION,
        scenario: "replay",
        taut_version: env!("CARGO_PKG_VERSION"),
        notes: traffic
            .iter()
            .map(traced_note)
            .chain([NOTE.to_owned()])
            .collect(),
        parameters: json!({
            "file": options.file.display().to_string(),
            "ring": options.ring,
            "queues": queues,
        }),
        columns: COLUMNS,
        ..Document::default()
    }
}

fn push(document: &mut Document, queue: &str, rule: &str, it: &Replayed) {
    document.rows.push(json!({
        "queue": queue,
        "rule": rule,
        "in_flight_bytes": {
            "mean": it.in_flight_mean_bytes,
            "p10": it.in_flight_bytes.p10,
            "p50": it.in_flight_bytes.p50,
            "p90": it.in_flight_bytes.p90,
            "max": it.in_flight_bytes.max,
        },
        // Where there is no limit, there is none to tell.
        "limit": (it.limit_p50 < LIMIT_MAX_UNSET).then_some(it.limit_p50),
        "waiting_packets": {"p50": it.waiting_packets.p50, "max": it.waiting_packets.max},
        "dry_us": it.dry_ns / 1000,
        "starved": it.starved,
        "end_us": it.end_ns / 1000,
    }));
    let points = |values: &[u64]| -> Vec<(u64, f64)> {
        let point = |(at, value): (usize, &u64)| (at as u64 * it.step_ns, *value as f64);
        values.iter().enumerate().map(point).collect()
    };
    // One chart for each queue and rule.
    let row = format!("{queue}: {rule}");
    let series = |name, values: &[u64]| Series {
        row: row.clone(),
        name,
        unit: "bytes",
        points: points(values),
    };
    document
        .series
        .push(series("in flight", &it.curve.in_flight_bytes));
    // No limit is none to draw.
    if it.limit_p50 < LIMIT_MAX_UNSET {
        document.series.push(series("limit", &it.curve.limit));
    }
}

fn html(document: &Document, options: &Replay) -> String {
    let (charts, left_out) = charts(document);
    let page = Page {
        document,
        origin: Origin::Simulated,
        about: "the traffic of a trace under other rules",
        charts: &charts,
        remark: (left_out > 0).then(|| format!("{left_out} more charts are not drawn.")),
        command: &options.command(),
    };
    page.html()
}

/// A rule with its cadence, as `dql every 1ms` has it.
pub fn parse_rule(text: &str) -> Result<Rule, String> {
    let (limit, cadence) = match text.split_once(" every ") {
        Some((limit, cadence)) => (limit, Some(cadence)),
        None => (text, None),
    };
    let limit = limit
        .parse()
        .map_err(|error: taut_path::limit::ParseLimitError| error.to_string())?;
    let cadence_ns = match cadence {
        Some(text) => taut_path::units::parse_time_ns(text).map_err(|error| error.to_string())?,
        None => 0,
    };
    Ok(Rule { limit, cadence_ns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rules_are_spelled_as_a_trace_spells_them() {
        for text in ["dql", "off", "40k", "taut:99.5%", "dql every 100000ns"] {
            assert_eq!(parse_rule(text).unwrap().to_string(), text);
        }
        assert!(
            parse_rule("dql every 5")
                .unwrap_err()
                .contains("a unit is missing")
        );
        assert!(parse_rule("what").is_err());
    }

    proptest! {
        #[test]
        fn any_rule_is_read_without_panic(text in "\\PC{0,20}") {
            let _ = parse_rule(&text);
            let _ = parse_rule(&format!("dql every {text}"));
        }
    }
}
