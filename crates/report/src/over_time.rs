//! Charts of a document's time series.

use crate::axis::Axis;
use crate::chart::{Chart, Line, Stroke};
use crate::document::{Document, Series};
use crate::limit_color::{NEUTRAL, named};

/// The maximum number of charts on a page.
const MAX_CHARTS: usize = 24;

/// A line that is lower than this part of a common scale is hard to read.
const LOW: f64 = 0.2;

/// The name of a limit's series.
const LIMIT: &str = "limit";

/// Returns the charts of the document's series, and the number of omitted rows. There is one chart
/// for each row and unit; a unit has a common scale. Charts that are low on it are repeated on
/// their own scale.
pub fn charts(document: &Document) -> (Vec<Chart>, usize) {
    let mut groups: Vec<Vec<&Series>> = Vec::new();
    for series in document.series.iter().filter(|it| !it.points.is_empty()) {
        let same =
            |group: &&mut Vec<&Series>| group[0].row == series.row && group[0].unit == series.unit;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(series),
            None => groups.push(vec![series]),
        }
    }
    let left_out = groups.len().saturating_sub(MAX_CHARTS);
    groups.truncate(MAX_CHARTS);
    let mut charts = Vec::new();
    for group in &mut groups {
        // The limit is drawn last, because both lines often coincide.
        group.sort_by_key(|series| series.name == LIMIT);
        let of_unit = document.series.iter().filter(|it| it.unit == group[0].unit);
        let (scale, own) = (highest(of_unit), highest(group.iter().copied()));
        charts.push(to_chart(group, group[0].row.clone(), scale));
        if own < scale * LOW {
            charts.push(to_chart(
                group,
                format!("{}, on its own scale", group[0].row),
                own,
            ));
        }
    }
    (charts, left_out)
}

fn highest<'s>(series: impl Iterator<Item = &'s Series>) -> f64 {
    let values = series.flat_map(|series| series.points.iter().map(|point| point.1));
    values.fold(0.0, f64::max)
}

fn to_chart(group: &[&Series], title: String, highest: f64) -> Chart {
    let unit = group[0].unit;
    let ends_ns = group.iter().flat_map(|it| it.points.last()).map(|it| it.0);
    let end_ns = ends_ns.max().unwrap_or(0);
    let (scale_ns, time_unit) = time_unit(end_ns);
    let names: Vec<&str> = group.iter().map(|series| series.name).collect();
    let point = |(ns, value)| (ns as f64 / scale_ns, value);
    let lines = group.iter().enumerate().map(|(at, series)| {
        // The last value is valid until the end.
        let last = series.points.last().map(|last| (end_ns, last.1));
        let points = series.points.iter().copied().chain(last);
        Line {
            label: series.name.to_owned(),
            color: color_of(&series.row),
            stroke: stroke_of(series.name, at),
            points: points.map(point).collect(),
            ..Line::default()
        }
    });
    Chart {
        description: format!("{title}: {} over time, in {unit}.", names.join(" and ")),
        title,
        x: Axis::up_to(format!("time ({time_unit})"), end_ns as f64 / scale_ns),
        y: Axis::linear(unit, highest),
        lines: lines.collect(),
    }
}

/// Returns the colour of the limit at the end of a row's name, if there is one.
fn color_of(row: &str) -> usize {
    let limit = row.rsplit(": ").next().unwrap_or(row);
    named(limit).unwrap_or(NEUTRAL)
}

/// Returns the stroke of a series: the same for the limit and for the limited quantity in every
/// chart.
fn stroke_of(name: &str, at: usize) -> Stroke {
    match name {
        "in flight" => Stroke::Pale,
        LIMIT => Stroke::Dashed,
        _ => [Stroke::Solid, Stroke::Dotted][at % 2],
    }
}

/// Returns the factor from ns to the unit of times up to `end_ns`, and the unit's name.
fn time_unit(end_ns: u64) -> (f64, &'static str) {
    match end_ns {
        0..2_000_000 => (1e3, "us"),
        2_000_000..2_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(row: &str, name: &'static str, unit: &'static str, high: f64) -> Series {
        Series {
            row: row.to_owned(),
            name,
            unit,
            points: vec![(0, 0.0), (3_000_000_000, high)],
        }
    }

    fn document(series: Vec<Series>) -> Document {
        Document {
            series,
            ..Document::default()
        }
    }

    #[test]
    fn rows_have_charts_on_a_common_scale() {
        let document = document(vec![
            series("off", "in flight", "bytes", 4e6),
            series("on", "in flight", "bytes", 1e5),
            series("on", "limit", "bytes", 1e5),
            series("on", "backlog", "packets", 10.0),
        ]);
        let (charts, left_out) = charts(&document);
        let shown: Vec<(&str, usize)> = charts
            .iter()
            .map(|it| (it.title.as_str(), it.lines.len()))
            .collect();
        let own = "on, on its own scale";
        assert_eq!(shown, [("off", 1), ("on", 2), (own, 2), ("on", 1)]);
        assert_eq!(left_out, 0);
        let tops: Vec<f64> = charts.iter().map(|it| it.y.position(1e5)).collect();
        assert_eq!(tops, [0.025, 0.025, 1.0, 1.0]);
        assert_eq!(charts[0].x.title, "time (s)");
    }

    #[test]
    fn limit_is_drawn_last() {
        let mut limit = series("on", "limit", "bytes", 1e5);
        limit.points = vec![(0, 7.0)];
        let document = document(vec![limit, series("on", "in flight", "bytes", 1e5)]);
        let lines = &charts(&document).0[0].lines;
        assert_eq!(lines[1].label, "limit");
        assert_eq!(lines[1].points, [(0.0, 7.0), (3.0, 7.0)]);
    }

    #[test]
    fn limit_has_one_colour_in_all_charts() {
        let document = document(vec![
            series("ramp-up: dql", "limit", "bytes", 1.0),
            series("ramp-up: taut", "in flight", "bytes", 1.0),
            series("dql", "limit", "bytes", 1.0),
        ]);
        let charts = charts(&document).0;
        let color = |chart: usize| charts[chart].lines[0].color;
        assert_eq!(color(0), color(2));
        assert_ne!(color(0), color(1));
    }

    #[test]
    fn excess_rows_are_counted() {
        let many = (0..MAX_CHARTS + 3).map(|row| series(&row.to_string(), "limit", "bytes", 1.0));
        let (charts, left_out) = charts(&document(many.collect()));
        assert_eq!((charts.len(), left_out), (MAX_CHARTS, 3));
    }

    #[test]
    fn empty_series_is_not_drawn() {
        let mut empty = series("on", "limit", "bytes", 1.0);
        empty.points.clear();
        assert_eq!(charts(&document(vec![empty])).0.len(), 0);
    }
}
