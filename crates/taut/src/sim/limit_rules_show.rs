//! How the comparison of limit rules is shown.

use std::fmt::Write;

use taut_sim::results::Document;
use taut_sim::scenario::limit_rules::{Compared, NEED, Row};

use crate::report::axis::Axis;
use crate::report::chart::{Chart, Line};
use crate::report::text::closing;

/// What stands above the charts.
pub const REMARK: &str = "Bars: the mean queue over that of the least fixed limit that keeps the \
    wire busy for the promised share of the time; 1 is as good as a limit gets that knows the \
    pattern beforehand. Below, for each pattern: what each interval between interrupts needs (the \
    most in each step), and the limits that the rules chose from it.";

/// Rules that are drawn, and how each looks. `off` would dwarf the rest.
const DRAWN: [(&str, usize); 4] = [("fixed", 0), ("dql", 1), ("need", 2), ("taut", 3)];

/// The rules that are drawn over time: the fixed limit is a line of its own.
const NEED_LOOK: usize = 4;

/// More patterns than this are not drawn over time.
const MOST_OVER_TIME: usize = 23;

/// The rows, grouped by pattern.
pub fn text(document: &Document, compared: &[Compared]) -> String {
    let mut out = String::new();
    for Compared { rows, .. } in compared {
        if let Some(first) = rows.first() {
            push_head(&mut out, first);
        }
        for row in rows {
            push_row(&mut out, row);
        }
        out.push('\n');
    }
    out.push_str(
        "ratio: mean queue over that of fixed, the least fixed limit that keeps the promise; \
         +- half a 95 % interval over the seeds\n\
         busy: share of the time with something to send in which the wire was sending; least: of \
         the seeds\n\
         delay: what a packet of high priority would wait; lost: link time before the measured time\n\
         up, down: the longest time to settle after a change\n",
    );
    out + &closing(&document.figures, document.seed, document.taut_version)
}

fn push_head(out: &mut String, row: &Row) {
    let seeds = if row.seeds > 1 {
        format!(", {} seeds", row.seeds)
    } else {
        String::new()
    };
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "{}{seeds}", row.pattern.replace(char::is_control, " "));
    let _ = writeln!(
        out,
        "  {:<15} {:>14} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "rule",
        "ratio",
        "busy %",
        "least %",
        "delay p50",
        "p99 us",
        "mean B",
        "p99 B",
        "limit B",
        "lost us",
        "up ms",
        "down ms"
    );
}

fn push_row(out: &mut String, row: &Row) {
    let ratio = match (row.ratio, row.ratio_ci95) {
        (Some(ratio), Some(ends)) => format!("{ratio:.3} +-{:.3}", (ends.1 - ends.0) / 2.0),
        (Some(ratio), None) => format!("{ratio:.3}"),
        (None, _) => "-".to_owned(),
    };
    let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
    let _ = writeln!(
        out,
        "  {:<15} {ratio:>14} {:>9.4} {:>9.4} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>8} {:>8}",
        row.rule,
        row.utilisation * 100.0,
        row.utilisation_least * 100.0,
        row.hp_delay_us_p50,
        row.hp_delay_us_p99,
        row.mean_bytes,
        row.p99_bytes,
        row.limit_bytes,
        row.learning_loss_us,
        ms(row.settle_up_ms),
        ms(row.settle_down_ms)
    );
}

/// Ratios and losses as bars, then each pattern over time.
pub fn charts(compared: &[Compared]) -> Vec<Chart> {
    let mut charts = vec![
        bars(
            compared,
            "Queue over the least that is enough",
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
    charts.extend(compared.iter().take(MOST_OVER_TIME).map(over_time));
    charts
}

/// Patterns from left to right, in each a bar for each rule.
fn bars(compared: &[Compared], title: &str, y: &str, value: fn(&Row) -> f64) -> Chart {
    let width = 0.8 / DRAWN.len() as f64;
    let mut highest: f64 = 0.0;
    let mut lines = Vec::new();
    for (at, &(rule, look)) in DRAWN.iter().enumerate() {
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
            look,
            points,
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

fn over_time(compared: &Compared) -> Chart {
    let shown = &compared.shown;
    let end_s = shown.end_ns as f64 / 1e9;
    let line = |label: &str, look, points: &[(u64, f64)]| Line {
        label: label.to_owned(),
        look,
        points: (points.iter().map(|&(ns, value)| (ns as f64 / 1e9, value)))
            // The last value holds to the end.
            .chain(points.last().map(|last| (end_s, last.1)))
            .collect(),
    };
    let mut lines = vec![line(NEED, NEED_LOOK, &shown.need_bytes)];
    for (rule, look) in DRAWN {
        let limit = (shown.limits.iter()).find(|(name, _)| name.to_string() == rule);
        if let Some((_, points)) = limit {
            lines.push(line(rule, look, points));
        }
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let highest = points.map(|point| point.1).fold(0.0, f64::max);
    let pattern = compared.rows.first().map_or("", |row| &row.pattern);
    Chart {
        title: format!("{pattern}: need and limits"),
        description: format!(
            "{pattern}: the need of each interval and the limits of the rules, in bytes, over time."
        ),
        x: Axis::up_to("time (s)", end_s),
        y: Axis::linear("bytes", highest),
        lines,
    }
}
