//! Table and charts of the comparison of limit rules.

use serde_json::Value;
use taut_report::document::{Document, Series};
use taut_scenarios::description::Description;
use taut_scenarios::limit_rules::NEED;

use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::layout::{SPACES, column, side_by_side};
use taut_report::limit_color::{NEUTRAL, limit_color};
use taut_report::page::{Origin, Page, command_line};
use taut_report::text::closing;

const REMARK: &str = "Bars: the mean queue relative to that of the smallest fixed limit that \
    reaches the target utilisation; 1 is the optimum of a fixed limit that is chosen with \
    knowledge of the trace. Below, for each trace: the required in-flight of each interval between \
    interrupts (the maximum in each step), and the limits of the rules.";

/// Maximum number of traces that are drawn over time.
const MAX_OVER_TIME: usize = 23;

/// Maximum number of rules in a chart.
const MAX_RULES: usize = 8;

/// Returns the page of a run.
pub fn page(document: &Document) -> Page<'_> {
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
    Page {
        document,
        origin: Origin::Simulated,
        about: &Description::of(document.scenario).about,
        charts: charts(document),
        remark: Some(format!("{REMARK}{left_out}")),
        command: command_line(Some(document.seed)),
    }
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
pub fn text(document: &Document, width: Option<usize>) -> String {
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

/// Returns bar charts of ratios and losses, then a chart over time for each trace.
fn charts(document: &Document) -> Vec<Chart> {
    let queue = "Queue relative to the smallest sufficient limit";
    let lost = "% of the time with something to send";
    let busy = |row: &Value| row["utilisation"].as_f64().unwrap_or(1.0);
    let mut charts = vec![
        bars(document, (queue, "ratio of mean queues"), &|row| {
            row["ratio"].as_f64().unwrap_or(0.0)
        }),
        bars(document, ("Link time lost", lost), &|row| {
            (1.0 - busy(row)) * 100.0
        }),
    ];
    let patterns = distinct(document, "pattern").into_iter();
    let over_time = |pattern| over_time(document, pattern);
    charts.extend(patterns.take(MAX_OVER_TIME).map(over_time));
    charts
}

/// Returns a bar for each rule, grouped by trace.
fn bars(document: &Document, (title, y): (&str, &str), value: &dyn Fn(&Value) -> f64) -> Chart {
    let (drawn, traces) = (drawn(document), traces(document));
    let width = 0.8 / drawn.len().max(1) as f64;
    let line = |(at, &rule): (usize, &&str)| {
        let bar = |(number, rows): (usize, &&[Value])| {
            let row = rows.iter().find(|row| row["rule"] == rule);
            let value = row.map_or(0.0, value);
            let left = number as f64 + 0.6 + at as f64 * width;
            let right = left + width;
            [(left, 0.0), (left, value), (right, value), (right, 0.0)]
        };
        Line {
            label: rule.to_owned(),
            color: limit_color(rule, distinct(document, "rule")),
            points: traces.iter().enumerate().flat_map(bar).collect(),
            ..Line::default()
        }
    };
    let lines: Vec<Line> = drawn.iter().enumerate().map(line).collect();
    let patterns = traces.iter().map(|rows| name(&rows[0], "pattern"));
    let patterns: Vec<&str> = patterns.collect();
    Chart {
        title: title.to_owned(),
        description: format!("{title}, for {}.", patterns.join(", ")),
        x: Axis::up_to(
            "pattern, in the order of the rows",
            patterns.len() as f64 + 0.5,
        ),
        y: Axis::linear(y, highest(&lines)),
        lines,
    }
}

fn highest(lines: &[Line]) -> f64 {
    let points = lines.iter().flat_map(|line| &line.points);
    points.map(|point| point.1).fold(0.0, f64::max)
}

fn over_time(document: &Document, pattern: &str) -> Chart {
    let point = |&(ns, value): &(u64, f64)| (ns as f64 / 1e9, value);
    let line = |label: &str, color, stroke| {
        let row = format!("{pattern}: {label}");
        let is_it = |series: &&Series| series.row == row && !series.points.is_empty();
        let points = document.series.iter().find(is_it)?.points.iter();
        Some(Line {
            label: label.to_owned(),
            color,
            stroke,
            points: points.map(point).collect(),
            ..Line::default()
        })
    };
    let limit = |rule| {
        let color = limit_color(rule, distinct(document, "rule"));
        line(rule, color, Stroke::Solid)
    };
    let need = line(NEED, NEUTRAL, Stroke::Scatter).into_iter();
    let lines: Vec<Line> = need
        .chain(drawn(document).into_iter().filter_map(limit))
        .collect();
    let ends_s = lines.iter().filter_map(|line| Some(line.points.last()?.0));
    let end_s = ends_s.fold(0.0, f64::max);
    Chart {
        title: format!("{pattern}: required in-flight and limits"),
        description: format!(
            "{pattern}: required in-flight of each interval and limits of the rules, in bytes, \
             over time."
        ),
        x: Axis::up_to("time (s)", end_s),
        y: Axis::linear("bytes", highest(&lines)),
        lines,
    }
}
