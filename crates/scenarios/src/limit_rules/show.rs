//! Table and charts of the comparison of limit rules.

use serde_json::Value;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::document::Document;
use taut_report::layout::{SPACES, column, side_by_side};
use taut_report::limit_color::{NEUTRAL, limit_color};
use taut_report::text::closing;

use super::NEED;
use crate::lines::{bytes_over_time, in_s, points};

const REMARK: &str = "For each trace: the required in-flight of each interval between interrupts \
    (the maximum in each step), and the limits of the rules.";

/// Maximum number of traces that are drawn.
const MAX_CHARTS: usize = 23;

/// Maximum number of rules in a chart.
const MAX_RULES: usize = 8;

/// Returns a chart over time for each trace, and the remark above them.
pub(crate) fn charts(document: &Document) -> (Vec<Chart>, Option<String>) {
    let drawn = drawn(document);
    let mut left_out = distinct(document, "rule");
    left_out.retain(|rule| !drawn.contains(rule));
    let left_out = match left_out[..] {
        [] => String::new(),
        _ => format!(
            " Not drawn, because their values are much larger: {}.",
            left_out.join(", ")
        ),
    };
    let patterns = distinct(document, "pattern").into_iter();
    let over_time = |pattern| over_time(document, pattern);
    let charts = patterns.filter_map(over_time).take(MAX_CHARTS).collect();
    (charts, Some(format!("{REMARK}{left_out}")))
}

/// Returns the names of the traces or of the rules, in the order of the rows.
fn distinct<'d>(document: &'d Document, key: &str) -> Vec<&'d str> {
    let mut found = Vec::new();
    for name in document.rows.iter().map(|row| name(row, key)) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn name<'r>(row: &'r Value, key: &str) -> &'r str {
    row[key].as_str().unwrap_or_default()
}

/// Returns the rules to draw: without those whose values are many times larger, unless there are
/// no others.
fn drawn(document: &Document) -> Vec<&str> {
    let all = distinct(document, "rule");
    let is_small = |rule: &&&str| **rule != "off" && !rule.contains(" every ");
    let small: Vec<&str> = all.iter().filter(is_small).copied().collect();
    let mut drawn = if small.is_empty() { all } else { small };
    drawn.truncate(MAX_RULES);
    drawn
}

/// Returns the rows of each trace. Two traces can have one name, so the first rule begins a trace.
fn traces(document: &Document) -> Vec<&[Value]> {
    let rows = &document.rows;
    let same = |one: &Value, next: &Value| {
        one["pattern"] == next["pattern"] && next["rule"] != rows[0]["rule"]
    };
    rows.chunk_by(same).collect()
}

/// Returns the table, grouped by trace.
pub(crate) fn text(document: &Document, width: Option<usize>) -> String {
    let mut out = String::new();
    for rows in traces(document) {
        let seeds = match rows[0]["seeds"].as_u64() {
            Some(seeds @ 2..) => format!(", {seeds} seeds"),
            _ => String::new(),
        };
        let pattern = name(&rows[0], "pattern").replace(char::is_control, " ");
        let table = side_by_side(&columns(rows), 1, SPACES, width);
        out += &format!("{pattern}{seeds}\n{table}\n");
    }
    out + &closing(document, width)
}

fn columns(rows: &[Value]) -> Vec<Vec<String>> {
    let rule = |row: &Value| format!("  {}", name(row, "rule"));
    let number = |heading, key: &str, factor: f64, decimals: usize| {
        let cell = |row: &Value| match row[key].as_f64() {
            Some(value) => format!("{:.decimals$}", value * factor),
            None => "-".to_owned(),
        };
        column(heading, rows.iter().map(cell).collect(), true)
    };
    vec![
        column("  rule", rows.iter().map(rule).collect(), false),
        column("ratio", rows.iter().map(ratio).collect(), true),
        number("busy %", "utilisation", 100.0, 4),
        number("min %", "utilisation_min", 100.0, 4),
        number("delay p50", "hp_delay_us_p50", 1.0, 0),
        number("p99 us", "hp_delay_us_p99", 1.0, 0),
        number("mean B", "mean_bytes", 1.0, 0),
        number("p99 B", "p99_bytes", 1.0, 0),
        column("limit", rows.iter().map(limit).collect(), true),
        number("lost us", "learning_loss_us", 1.0, 0),
        number("loss", "loss_over_allowed", 1.0, 2),
        number("at s", "loss_over_allowed_at_s", 1.0, 1),
        number("up ms", "converge_up_ms", 1.0, 1),
        number("down ms", "converge_down_ms", 1.0, 1),
    ]
}

fn ratio(row: &Value) -> String {
    let end = |at: usize| row["ratio_ci95"][at].as_f64();
    match (row["ratio"].as_f64(), end(0), end(1)) {
        (Some(ratio), Some(low), Some(high)) => format!("{ratio:.3} +-{:.3}", (high - low) / 2.0),
        (Some(ratio), ..) => format!("{ratio:.3}"),
        (None, ..) => "-".to_owned(),
    }
}

/// Returns the limit, or `-` without one.
fn limit(row: &Value) -> String {
    let unit = match name(row, "limit_unit") {
        "packets" => "p",
        _ => "",
    };
    match row["limit"].as_f64() {
        Some(limit) if row["rule"] != "off" => format!("{limit:.0}{unit}"),
        _ => "-".to_owned(),
    }
}

fn over_time(document: &Document, pattern: &str) -> Option<Chart> {
    let line = |label: &str, name, color, stroke| {
        Some(Line {
            label: label.to_owned(),
            color,
            stroke,
            points: in_s(points(document, &format!("{pattern}: {label}"), name)?),
            ..Line::default()
        })
    };
    let limit = |rule| {
        let color = limit_color(rule, distinct(document, "rule"));
        line(rule, "limit", color, Stroke::Solid)
    };
    let need = line(NEED, "need", NEUTRAL, Stroke::Scatter).into_iter();
    let limits = drawn(document).into_iter().filter_map(limit);
    let title = format!("{pattern}: required in-flight and limits");
    bytes_over_time(title, "bytes", need.chain(limits).collect())
}
