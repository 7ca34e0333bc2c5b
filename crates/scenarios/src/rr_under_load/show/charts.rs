//! The page of E1: its charts.

use hdrhistogram::Histogram;
use taut_path::LateSegmentation;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::document::Document;
use taut_report::limit_color::limit_color;
use taut_report::page::{Origin, Page};

use super::super::{Row, Settings};
use crate::description::Description;
use crate::on_off::on_off;
use crate::schema::Schema;

/// Remark above the charts.
const REMARK: &str = "With and without a limit on the same scale: a limit \
    removes the time that every packet of the first band waits behind bytes in the ring. \
    The time series begin with the start of the streams, which is not measured.";

/// Returns the limit in the label of a row's lines.
fn limit(row: &Row) -> String {
    match row.late_segmentation {
        LateSegmentation::Off => row.limit.to_string(),
        mode => format!("{}, late segmentation {mode}", row.limit),
    }
}

/// Returns the colour of a row's limit: the same in every chart.
fn color(row: &Row, all: &[Row]) -> usize {
    let all: Vec<String> = all.iter().map(limit).collect();
    limit_color(&limit(row), all.iter().map(String::as_str))
}

/// Returns `true` if the limit is comparable with the bytes in the ring.
fn limits_bytes(row: &Row) -> bool {
    row.limit_bytes_p50.is_some()
}

/// Returns the page; `command` reproduces it.
pub fn page<'d>(
    document: &'d Document,
    origin: Origin,
    rows: &[Row],
    length_ns: u64,
    command: String,
) -> Page<'d> {
    Page {
        document,
        origin,
        about: &Description::of(Settings::NAME).about,
        charts: charts(rows, length_ns),
        remark: Some(REMARK.to_owned()),
        command,
    }
}

/// Returns the charts: the bytes in the ring for each TSO setting, the rows with a limit on their
/// own scale, and the latencies.
fn charts(all: &[Row], length_ns: u64) -> Vec<Chart> {
    let of_tso = |tso| all.iter().filter(move |row| row.tso == tso);
    let mut charts = Vec::new();
    for tso in [true, false] {
        let rows: Vec<&Row> = of_tso(tso).collect();
        let title = format!("Bytes in the ring, TSO {}", on_off(tso));
        charts.extend(over_time(title, &rows, all, length_ns));
    }
    charts.extend(latency(all));
    for tso in [true, false] {
        let rows: Vec<&Row> = of_tso(tso).filter(|row| limits_bytes(row)).collect();
        // Without other rows, the first chart shows the limit well enough.
        if rows.len() < of_tso(tso).count() {
            let title = format!("With a limit, TSO {}: its own scale", on_off(tso));
            charts.extend(over_time(title, &rows, all, length_ns));
        }
    }
    charts
}

fn over_time(title: String, rows: &[&Row], all: &[Row], length_ns: u64) -> Option<Chart> {
    let seconds = length_ns as f64 / 1e9;
    let mut lines = Vec::new();
    for row in rows {
        let (curve, limit) = (&row.curve, limit(row));
        let color = color(row, all);
        let label = format!("in the ring, limit {limit}");
        // Pale if the limit is drawn on it.
        let stroke = if limits_bytes(row) {
            Stroke::Pale
        } else {
            Stroke::Solid
        };
        lines.push(line(
            label,
            (color, stroke),
            &curve.in_flight_bytes,
            seconds,
        ));
        if limits_bytes(row) {
            let label = format!("the limit, {limit}");
            lines.push(line(label, (color, Stroke::Dashed), &curve.limit, seconds));
        }
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let highest = points.map(|point| point.1).fold(0.0, f64::max);
    if lines.is_empty() {
        return None;
    }
    Some(Chart {
        description: format!("{title}: {} over {seconds} s.", peaks(&lines)),
        title,
        x: Axis::up_to("time (s)", seconds),
        y: Axis::linear("bytes, maximum of each step", highest),
        lines,
    })
}

/// Describes the maximum of each line.
fn peaks(lines: &[Line]) -> String {
    let peak = |line: &Line| {
        let highest = line.points.iter().map(|point| point.1).fold(0.0, f64::max);
        format!("{} reaches {highest} bytes", line.label)
    };
    lines.iter().map(peak).collect::<Vec<_>>().join(", ")
}

fn line(label: String, (color, stroke): (usize, Stroke), values: &[u64], seconds: f64) -> Line {
    let step = seconds / values.len().max(1) as f64;
    let starts = values.iter().enumerate();
    let mut points: Vec<(f64, f64)> = starts
        .map(|(at, &value)| (at as f64 * step, value as f64))
        .collect();
    // The last value is valid until the end.
    points.extend(points.last().map(|last| (seconds, last.1)));
    Line {
        label,
        color,
        stroke,
        points,
        ..Line::default()
    }
}

/// Returns the chart of the latency distribution.
fn latency(all: &[Row]) -> Option<Chart> {
    let drawn: Vec<&Row> = all.iter().filter(|it| !it.latency_ns.is_empty()).collect();
    let lowest = drawn.iter().map(|it| it.latency_ns.min()).min()?;
    let highest = drawn.iter().map(|it| it.latency_ns.max()).max()?;
    let medians = drawn.iter().map(|it| {
        let us = it.latency_ns.value_at_quantile(0.5) / 1000;
        format!("{}: median {us} us", it.case())
    });
    let line = |row: &&Row| {
        let stroke = [Stroke::Dotted, Stroke::Solid][usize::from(row.tso)];
        let name = row.case().to_string();
        at_most(name, (color(row, all), stroke), &row.latency_ns)
    };
    Some(Chart {
        title: "Latency of a transaction".to_owned(),
        description: medians.collect::<Vec<_>>().join("; "),
        x: Axis::times("latency", lowest as f64, highest as f64),
        y: Axis::linear("% of the transactions took at most", 100.0),
        lines: drawn.iter().map(line).collect(),
    })
}

/// Returns the share of the recorded times, in %, that are at most each time.
pub fn at_most(
    label: String,
    (color, stroke): (usize, Stroke),
    histogram: &Histogram<u64>,
) -> Line {
    let all = histogram.len() as f64;
    let mut points = vec![(histogram.min() as f64, 0.0)];
    let mut so_far = 0;
    for value in histogram.iter_recorded() {
        so_far += value.count_since_last_iteration();
        points.push((
            value.value_iterated_to() as f64,
            so_far as f64 * 100.0 / all,
        ));
    }
    Line {
        label,
        color,
        stroke,
        points,
        ..Line::default()
    }
}
