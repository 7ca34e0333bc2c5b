//! Table and charts of the comparison of limit rules.

use std::fmt::Write;

use taut_report::document::Document;
use taut_scenarios::limit_rules::{Compared, LimitRow, NEED};

use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::layout::{SPACES, side_by_side};
use taut_report::limit_color::{NEUTRAL, limit_color};
use taut_report::text::closing;

/// Returns the text above the charts.
pub fn remark(compared: &[Compared]) -> String {
    let left_out: Vec<&str> = rules(compared)
        .into_iter()
        .filter(|rule| !drawn(compared).contains(rule))
        .collect();
    let left_out = match left_out[..] {
        [] => String::new(),
        _ => format!(
            " Not drawn, because their values are much larger: {}.",
            left_out.join(", ")
        ),
    };
    format!("{REMARK}{left_out}")
}

const REMARK: &str = "Bars: the mean queue relative to that of the smallest fixed limit that \
    reaches the target utilisation; 1 is the optimum of a fixed limit that is chosen with \
    knowledge of the trace. Below, for each trace: the required in-flight of each interval between \
    interrupts (the maximum in each step), and the limits of the rules.";

/// Maximum number of traces that are drawn over time.
const MAX_OVER_TIME: usize = 23;

/// Maximum number of rules in a chart.
const MAX_RULES: usize = 8;

/// Returns the rules of the rows, in their order.
fn rules(compared: &[Compared]) -> Vec<&str> {
    let mut rules: Vec<&str> = Vec::new();
    for row in compared.iter().flat_map(|it| &it.rows) {
        if !rules.contains(&row.rule.as_str()) {
            rules.push(&row.rule);
        }
    }
    rules
}

/// Returns the rules to draw: without those whose values are many times larger, unless there are
/// no others.
fn drawn(compared: &[Compared]) -> Vec<&str> {
    let all = rules(compared);
    let is_small = |rule: &&&str| **rule != "off" && !rule.contains(" every ");
    let small: Vec<&str> = all.iter().filter(is_small).copied().collect();
    let mut drawn = if small.is_empty() { all } else { small };
    drawn.truncate(MAX_RULES);
    drawn
}

/// Returns the table, grouped by trace.
pub fn text(document: &Document, compared: &[Compared], width: Option<usize>) -> String {
    let mut out = String::new();
    for Compared { rows, .. } in compared {
        if let Some(first) = rows.first() {
            push_head(&mut out, first);
        }
        out += &side_by_side(&columns(rows), 1, SPACES, width);
        out.push('\n');
    }
    out + &closing(document, width)
}

fn push_head(out: &mut String, row: &LimitRow) {
    let seeds = if row.seeds > 1 {
        format!(", {} seeds", row.seeds)
    } else {
        String::new()
    };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}{seeds}", row.pattern.replace(char::is_control, " "));
}

type Cell = fn(&LimitRow) -> String;

fn columns(rows: &[LimitRow]) -> Vec<Vec<String>> {
    const CELLS: [(&str, Cell); 14] = [
        ("  rule", |row| format!("  {}", row.rule)),
        ("ratio", ratio),
        ("busy %", |row| format!("{:.4}", row.utilisation * 100.0)),
        ("min %", |row| format!("{:.4}", row.utilisation_min * 100.0)),
        ("delay p50", |row| format!("{:.0}", row.hp_delay_us_p50)),
        ("p99 us", |row| format!("{:.0}", row.hp_delay_us_p99)),
        ("mean B", |row| format!("{:.0}", row.mean_bytes)),
        ("p99 B", |row| format!("{:.0}", row.p99_bytes)),
        ("limit", limit),
        ("lost us", |row| format!("{:.0}", row.learning_loss_us)),
        ("loss", |row| {
            row.loss_over_allowed
                .map_or("-".to_owned(), |loss| format!("{loss:.2}"))
        }),
        ("at s", |row| ms(row.loss_over_allowed_at_s)),
        ("up ms", |row| ms(row.converge_up_ms)),
        ("down ms", |row| ms(row.converge_down_ms)),
    ];
    let column = |(at, (name, cell)): (usize, &(&str, Cell))| {
        let cells: Vec<String> = std::iter::once((*name).to_owned())
            .chain(rows.iter().map(cell))
            .collect();
        let width = cells.iter().map(|it| it.chars().count()).max().unwrap_or(0);
        let aligned = |cell: String| {
            if at == 0 {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        };
        cells.into_iter().map(aligned).collect()
    };
    CELLS.iter().enumerate().map(column).collect()
}

fn ratio(row: &LimitRow) -> String {
    match (row.ratio, row.ratio_ci95) {
        (Some(ratio), Some(ends)) => format!("{ratio:.3} +-{:.3}", (ends.1 - ends.0) / 2.0),
        (Some(ratio), None) => format!("{ratio:.3}"),
        (None, _) => "-".to_owned(),
    }
}

/// Returns the limit, or `-` without one.
fn limit(row: &LimitRow) -> String {
    if row.rule == "off" {
        return "-".to_owned();
    }
    let unit = if row.limit_unit == "packets" { "p" } else { "" };
    format!("{:.0}{unit}", row.limit)
}

fn ms(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"))
}

/// Returns bar charts of ratios and losses, then a chart over time for each trace.
pub fn charts(compared: &[Compared]) -> Vec<Chart> {
    let mut charts = vec![
        bars(
            compared,
            "Queue relative to the smallest sufficient limit",
            "ratio of mean queues",
            |row| row.ratio.unwrap_or(0.0),
        ),
        bars(
            compared,
            "Link time lost",
            "% of the time with something to send",
            |row| (1.0 - row.utilisation) * 100.0,
        ),
    ];
    charts.extend(
        compared
            .iter()
            .take(MAX_OVER_TIME)
            .map(|one| over_time(one, compared)),
    );
    charts
}

/// Returns a bar for each rule, grouped by trace.
fn bars(compared: &[Compared], title: &str, y: &str, value: fn(&LimitRow) -> f64) -> Chart {
    let drawn = drawn(compared);
    let width = 0.8 / drawn.len().max(1) as f64;
    let mut highest: f64 = 0.0;
    let mut lines = Vec::new();
    for (at, &rule) in drawn.iter().enumerate() {
        let mut points = Vec::new();
        for (pattern, it) in compared.iter().enumerate() {
            let row = it.rows.iter().find(|row| row.rule == rule);
            let value = row.map_or(0.0, value);
            highest = highest.max(value);
            let left = pattern as f64 + 0.6 + at as f64 * width;
            points.extend([
                (left, 0.0),
                (left, value),
                (left + width, value),
                (left + width, 0.0),
            ]);
        }
        lines.push(Line {
            label: rule.to_owned(),
            color: limit_color(rule, rules(compared)),
            stroke: Stroke::Solid,
            points,
            ..Line::default()
        });
    }
    let first = |it: &Compared| it.rows.first().map_or("", |row| &row.pattern).to_owned();
    let patterns: Vec<String> = compared.iter().map(first).collect();
    Chart {
        title: title.to_owned(),
        description: format!("{title}, for {}.", patterns.join(", ")),
        x: Axis::up_to(
            "pattern, in the order of the rows",
            compared.len() as f64 + 0.5,
        ),
        y: Axis::linear(y, highest),
        lines,
    }
}

fn over_time(one: &Compared, compared: &[Compared]) -> Chart {
    let shown = &one.shown;
    let end_s = shown.end_ns as f64 / 1e9;
    let line = |label: &str, (color, stroke), points: &[(u64, f64)]| Line {
        label: label.to_owned(),
        color,
        stroke,
        points: (points.iter().map(|&(ns, value)| (ns as f64 / 1e9, value)))
            // The last value is valid until the end.
            .chain(points.last().map(|last| (end_s, last.1)))
            .collect(),
        ..Line::default()
    };
    let mut lines = Vec::new();
    if !shown.need_bytes.is_empty() {
        lines.push(line(NEED, (NEUTRAL, Stroke::Scatter), &shown.need_bytes));
    }
    for rule in drawn(compared) {
        let limit = (shown.limits.iter()).find(|(name, _)| name.to_string() == rule);
        if let Some((_, points)) = limit {
            let color = limit_color(rule, rules(compared));
            lines.push(line(rule, (color, Stroke::Solid), points));
        }
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let highest = points.map(|point| point.1).fold(0.0, f64::max);
    let pattern = one.rows.first().map_or("", |row| &row.pattern);
    Chart {
        title: format!("{pattern}: required in-flight and limits"),
        description: format!(
            "{pattern}: required in-flight of each interval and limits of the rules, in bytes, \
             over time."
        ),
        x: Axis::up_to("time (s)", end_s),
        y: Axis::linear("bytes", highest),
        lines,
    }
}
