//! The page of E1: its charts.

use hdrhistogram::Histogram;
use taut_path::LateSegmentation;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line, Stroke};
use taut_report::document::{Document, Series};
use taut_report::limit_color::limit_color;

use super::Case;
use crate::lines::{bytes_over_time, in_s, points};
use crate::on_off::on_off;

/// Names of the series.
pub(super) const IN_RING: &str = "in flight";
pub(super) const LIMIT: &str = "limit";
const LATENCY: &str = "latency at most";

/// Points of a distribution.
const CDF_POINTS: u32 = 200;

/// Remark above the charts.
const REMARK: &str = "With and without a limit on the same scale: a limit \
    removes the time that every packet of the first band waits behind bytes in the ring. \
    The time series begin with the start of the streams, which is not measured.";

/// Returns the latency distribution of the transactions of a row.
pub(crate) fn distribution(row: impl Into<String>, latency_ns: &Histogram<u64>) -> Series {
    let points = (0..=CDF_POINTS).map(|point| {
        let share = f64::from(point) / f64::from(CDF_POINTS);
        (latency_ns.value_at_quantile(share), share)
    });
    Series {
        row: row.into(),
        name: LATENCY,
        unit: "share of transactions",
        points: points.collect(),
    }
}

/// The rows and their series.
struct Drawing<'d> {
    document: &'d Document,
    cases: Vec<Case>,
}

/// Returns the charts: the bytes in the ring for each TSO setting, the rows with a limit on their
/// own scale, and the latencies; and the remark above them.
pub(crate) fn charts(document: &Document) -> (Vec<Chart>, Option<String>) {
    let drawing = Drawing {
        document,
        cases: document.rows.iter().filter_map(Case::of_row).collect(),
    };
    let of_tso = |tso| drawing.cases.iter().filter(move |case| case.tso == tso);
    let mut charts = Vec::new();
    for tso in [true, false] {
        let cases: Vec<&Case> = of_tso(tso).collect();
        let title = format!("Bytes in the ring, TSO {}", on_off(tso));
        charts.extend(drawing.over_time(title, &cases));
    }
    charts.extend(drawing.latency());
    for tso in [true, false] {
        let limited =
            of_tso(tso).filter(|case| points(document, &case.to_string(), LIMIT).is_some());
        let limited: Vec<&Case> = limited.collect();
        // Without other rows, the first chart shows the limit well enough.
        if limited.len() < of_tso(tso).count() {
            let title = format!("With a limit, TSO {}: its own scale", on_off(tso));
            charts.extend(drawing.over_time(title, &limited));
        }
    }
    (charts, Some(REMARK.to_owned()))
}

/// Returns the limit in the label of a row's lines.
fn limit(case: &Case) -> String {
    match case.late_segmentation {
        LateSegmentation::Off => case.limit.to_string(),
        mode => format!("{}, late segmentation {mode}", case.limit),
    }
}

impl Drawing<'_> {
    /// Returns a line in the colour of a row's limit, which is the same in every chart.
    fn line(&self, case: &Case, label: String, stroke: Stroke, points: Vec<(f64, f64)>) -> Line {
        let all: Vec<String> = self.cases.iter().map(limit).collect();
        Line {
            label,
            color: limit_color(&limit(case), all.iter().map(String::as_str)),
            stroke,
            points,
            ..Line::default()
        }
    }

    fn over_time(&self, title: String, cases: &[&Case]) -> Option<Chart> {
        let mut lines = Vec::new();
        for case in cases {
            let series = |name| points(self.document, &case.to_string(), name).map(in_s);
            let (in_ring, limits) = (series(IN_RING), series(LIMIT));
            // Pale if the limit is drawn on it.
            let stroke = [Stroke::Solid, Stroke::Pale][usize::from(limits.is_some())];
            let label = format!("in the ring, limit {}", limit(case));
            lines.extend(in_ring.map(|points| self.line(case, label, stroke, points)));
            let label = format!("the limit, {}", limit(case));
            lines.extend(limits.map(|points| self.line(case, label, Stroke::Dashed, points)));
        }
        bytes_over_time(title, "bytes, maximum of each step", lines)
    }

    /// Returns the chart of the latency distributions.
    fn latency(&self) -> Option<Chart> {
        let drawn = self.cases.iter().zip(&self.document.rows);
        let drawn = drawn.filter_map(|(case, row)| {
            let points = points(self.document, &case.to_string(), LATENCY)?;
            Some((case, points, &row["rr_latency_us"]["p50"]))
        });
        let drawn: Vec<_> = drawn.collect();
        let lowest = drawn.iter().map(|it| it.1[0].0).min()?;
        let highest = drawn
            .iter()
            .filter_map(|it| it.1.last())
            .max_by_key(|it| it.0)?;
        let medians = drawn
            .iter()
            .map(|(case, _, us)| format!("{case}: median {us} us"));
        let line = |(case, points, _): &(&Case, &[(u64, f64)], _)| {
            let stroke = [Stroke::Dotted, Stroke::Solid][usize::from(case.tso)];
            let in_percent = points.iter().map(|&(ns, share)| (ns as f64, share * 100.0));
            self.line(case, case.to_string(), stroke, in_percent.collect())
        };
        Some(Chart {
            title: "Latency of a transaction".to_owned(),
            description: medians.collect::<Vec<_>>().join("; "),
            x: Axis::times("latency", lowest as f64, highest.0 as f64),
            y: Axis::linear("% of the transactions took at most", 100.0),
            lines: drawn.iter().map(line).collect(),
        })
    }
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
        let percent = so_far as f64 * 100.0 / all;
        points.push((value.value_iterated_to() as f64, percent));
    }
    Line {
        label,
        color,
        stroke,
        points,
        ..Line::default()
    }
}
