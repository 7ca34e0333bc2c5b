//! The rows and their comparison: as data and as charts.

use serde_json::json;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Join, Line, Stroke};
use taut_report::document::{DOCUMENT_VERSION, Document};
use taut_report::limit_color::{NEUTRAL, limit_color};

use super::config::RingSweep;
use super::rows::RingRow;

/// The description of the experiment.
pub const ABOUT: &str = "throughput, bytes in flight and completion time of a ring under fixed \
    depths and under limits";

/// The descriptions of the columns.
const COLUMNS: &[(&str, &str)] = &[
    (
        "limit_p50",
        "median of the limit: in packets for a limit in packets (64p), otherwise in bytes",
    ),
    (
        "throughput_share",
        "packets per second relative to the best fixed depth on the same link; null for a depth, \
         without a limit and without depths",
    ),
    (
        "smallest_sufficient_depth",
        "the smallest fixed depth with 99 % of the throughput of the best one",
    ),
    (
        "inflight_ratio",
        "bytes in flight (p50) relative to that depth",
    ),
];

/// Returns the document.
pub fn document(options: &RingSweep, rows: &[RingRow], interrupted: bool) -> Document {
    Document {
        version: DOCUMENT_VERSION,
        scenario: "ring",
        taut_version: env!("CARGO_PKG_VERSION"),
        seed: options.seed,
        interrupted,
        notes: rows.iter().filter_map(RingRow::note).collect(),
        parameters: json!({
            "coalesce_ns": options.coalesce.0,
            "duration_ns": options.duration.0,
            "repetitions": options.repeat,
        }),
        rows: rows.iter().map(|row| json!(row)).collect(),
        columns: COLUMNS.to_vec(),
        ..Document::default()
    }
}

/// Returns a chart for each link that has a rate.
pub fn charts(rows: &[RingRow]) -> Vec<Chart> {
    let links = rows.chunk_by(RingRow::is_of);
    let shaped = links.filter(|link| link[0].rate_bps.is_some());
    shaped.map(chart).collect()
}

fn chart(rows: &[RingRow]) -> Chart {
    let best_pps = rows.iter().map(|row| row.pps).fold(1.0, f64::max);
    let point = |row: &RingRow| {
        let bytes = row.inflight_bytes.p50.max(1) as f64;
        (bytes, row.pps / best_pps * 100.0)
    };
    let (fixed, limits): (Vec<&RingRow>, Vec<&RingRow>) = rows.iter().partition(|row| row.is_fixed);
    let depths = || fixed.iter().map(|row| point(row)).collect();
    let mut lines = vec![
        Line {
            color: NEUTRAL,
            stroke: Stroke::Points,
            points: depths(),
            names: fixed.iter().map(|row| row.limit.clone()).collect(),
            ..Line::default()
        },
        Line {
            color: NEUTRAL,
            join: Join::Straight,
            points: depths(),
            ..Line::default()
        },
    ];
    for row in &limits {
        let all = limits.iter().map(|row| row.limit.as_str());
        lines.push(Line {
            color: limit_color(&row.limit, all),
            stroke: Stroke::Points,
            points: vec![point(row)],
            names: vec![row.limit.clone()],
            ..Line::default()
        });
    }
    let points = lines.iter().flat_map(|line| &line.points);
    let bytes = points.map(|point| point.0);
    let (low, high) = bytes.fold((1e3, 1e6), |(low, high): (f64, f64), bytes| {
        (low.min(bytes), high.max(bytes))
    });
    let title = rows[0].ring();
    Chart {
        description: format!("{title}: throughput over bytes in flight, for depths and limits."),
        title,
        x: Axis::logarithmic("bytes in flight, median; depths in packets", low, high),
        y: Axis::linear("% of the best throughput", 110.0),
        lines,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::example;
    use super::*;

    #[test]
    fn shaped_link_has_a_chart_with_every_row() {
        let rows = [
            example("1p", 4_000.0, 1_514),
            example("64p", 8_000.0, 96_896),
            example("dql", 8_000.0, 9_000),
        ];
        let charts = charts(&rows);
        assert_eq!(charts.len(), 1);
        assert!(charts[0].title.ends_with("100mbit (virtual)"));
        let names: Vec<&String> = charts[0].lines.iter().flat_map(|it| &it.names).collect();
        assert_eq!(names, ["1p", "64p", "dql"]);
        assert_eq!(charts[0].lines[2].points, [(9_000.0, 100.0)]);
    }
}
