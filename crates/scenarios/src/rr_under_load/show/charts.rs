//! The page of E1: its charts.

use hdrhistogram::Histogram;
use taut_measure::meter::Curve;
use taut_path::LateSegmentation;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::document::Document;
use taut_report::limit_color::limit_color;
use taut_report::page::{Origin, Page};

use super::super::case::Case;
use super::super::run::Outcome;
use super::super::Settings;
use crate::description::Description;
use crate::on_off::on_off;
use crate::schema::Schema;

/// Remark above the charts.
const REMARK: &str = "With and without a limit on the same scale: a limit \
    removes the time that every packet of the first band waits behind bytes in the ring. \
    The time series begin with the start of the streams, which is not measured.";

/// Chart data of a row.
pub struct Drawn<'a> {
    /// Its settings.
    pub case: Case,
    /// Its bytes in the ring and its limit over time.
    pub curve: &'a Curve,
    /// Latencies of the transactions, in ns.
    pub latency_ns: &'a Histogram<u64>,
}

impl<'a> Drawn<'a> {
    /// Returns the chart data of a simulated row.
    pub fn of(case: &Case, outcome: &'a Outcome) -> Self {
        Self {
            case: case.clone(),
            curve: &outcome.row.curve,
            latency_ns: &outcome.latency_ns,
        }
    }

    /// Returns the label of its lines.
    fn limit(&self) -> String {
        match self.case.late_segmentation {
            LateSegmentation::Off => self.case.limit.to_string(),
            mode => format!("{}, late segmentation {mode}", self.case.limit),
        }
    }
}

/// Returns the colour of a row's limit: the same in every chart.
fn color(row: &Drawn, all: &[Drawn]) -> usize {
    let all: Vec<String> = all.iter().map(Drawn::limit).collect();
    limit_color(&row.limit(), all.iter().map(String::as_str))
}

/// Returns the page; `command` reproduces it.
pub fn page<'d>(
    document: &'d Document,
    origin: Origin,
    drawn: &[Drawn],
    length_ns: u64,
    command: String,
) -> Page<'d> {
    Page {
        document,
        origin,
        about: &Description::of(Settings::NAME).about,
        charts: charts(drawn, length_ns),
        remark: Some(REMARK.to_owned()),
        command,
    }
}

/// Returns the charts: the bytes in the ring for each TSO setting, the rows with a limit on their
/// own scale, and the latencies.
fn charts(all: &[Drawn], length_ns: u64) -> Vec<Chart> {
    let of_tso = |tso| all.iter().filter(move |it| it.case.tso == tso);
    let mut charts = Vec::new();
    for tso in [true, false] {
        let rows: Vec<&Drawn> = of_tso(tso).collect();
        let title = format!("Bytes in the ring, TSO {}", on_off(tso));
        charts.extend(over_time(title, &rows, all, length_ns));
    }
    charts.extend(latency(all));
    for tso in [true, false] {
        let rows: Vec<&Drawn> = of_tso(tso).filter(|it| it.case.limits_bytes()).collect();
        // Without other rows, the first chart shows the limit well enough.
        if rows.len() < of_tso(tso).count() {
            let title = format!("With a limit, TSO {}: its own scale", on_off(tso));
            charts.extend(over_time(title, &rows, all, length_ns));
        }
    }
    charts
}

fn over_time(title: String, rows: &[&Drawn], all: &[Drawn], length_ns: u64) -> Option<Chart> {
    let seconds = length_ns as f64 / 1e9;
    let mut lines = Vec::new();
    for row in rows {
        let (curve, limit) = (row.curve, row.limit());
        let color = color(row, all);
        let label = format!("in the ring, limit {limit}");
        // Pale if the limit is drawn on it.
        let stroke = if row.case.limits_bytes() {
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
        if row.case.limits_bytes() {
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
fn latency(all: &[Drawn]) -> Option<Chart> {
    let drawn: Vec<&Drawn> = all.iter().filter(|it| !it.latency_ns.is_empty()).collect();
    let lowest = drawn.iter().map(|it| it.latency_ns.min()).min()?;
    let highest = drawn.iter().map(|it| it.latency_ns.max()).max()?;
    let medians = drawn.iter().map(|it| {
        let us = it.latency_ns.value_at_quantile(0.5) / 1000;
        format!("{}: median {us} us", it.case)
    });
    Some(Chart {
        title: "Latency of a transaction".to_owned(),
        description: medians.collect::<Vec<_>>().join("; "),
        x: Axis::times("latency", lowest as f64, highest as f64),
        y: Axis::linear("% of the transactions took at most", 100.0),
        lines: drawn
            .iter()
            .map(|it| cumulative(it, color(it, all)))
            .collect(),
    })
}

fn cumulative(row: &Drawn, color: usize) -> Line {
    let stroke = if row.case.tso {
        Stroke::Solid
    } else {
        Stroke::Dotted
    };
    at_most(row.case.to_string(), (color, stroke), row.latency_ns)
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
