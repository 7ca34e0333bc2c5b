//! Series as lines of a chart.

use taut_report::axis::Axis;
use taut_report::chart::{Chart, Line};
use taut_report::document::Document;

/// Returns the points of a row's series, if it has them.
pub(crate) fn points<'d>(
    document: &'d Document,
    row: &str,
    name: &str,
) -> Option<&'d [(u64, f64)]> {
    let mut all = document.series.iter();
    let found = all.find(|series| series.row == row && series.name == name)?;
    (!found.points.is_empty()).then_some(&found.points)
}

/// Returns these points with their times in s.
pub(crate) fn in_s(points: &[(u64, f64)]) -> Vec<(f64, f64)> {
    let points = points.iter().map(|&(ns, value)| (ns as f64 / 1e9, value));
    points.collect()
}

/// Returns the chart of lines in bytes over the time in s; `None` without points. `label` is that
/// of the vertical axis.
pub(crate) fn bytes_over_time(title: String, label: &str, lines: Vec<Line>) -> Option<Chart> {
    let highest = |points: &[(f64, f64)]| points.iter().map(|it| it.1).fold(0.0, f64::max);
    let peak = |line: &Line| format!("{} reaches {} bytes", line.label, highest(&line.points));
    let peaks: Vec<String> = lines.iter().map(peak).collect();
    let all: Vec<(f64, f64)> = lines.iter().flat_map(|line| line.points.clone()).collect();
    let end_s = all.iter().map(|point| point.0).reduce(f64::max)?;
    Some(Chart {
        description: format!("{title}: {} over {end_s} s.", peaks.join(", ")),
        title,
        x: Axis::up_to("time (s)", end_s),
        y: Axis::linear(label, highest(&all)),
        lines,
    })
}
