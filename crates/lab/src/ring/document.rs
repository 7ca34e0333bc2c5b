//! The rows and their comparison: as JSON, as tables and as charts.

use serde_json::{Value, json};
use taut_path::units::Rate;
use taut_report::axis::Axis;
use taut_report::chart::{Chart, Join, Line, Stroke};
use taut_report::document::DOCUMENT_VERSION;
use taut_report::layout::{SPACES, column, side_by_side};
use taut_report::limit_color::{NEUTRAL, limit_color};

use super::config::RingSweep;
use super::rows::{Finding, RingRow, findings};

/// Returns the document.
pub fn document(options: &RingSweep, rows: &[RingRow], interrupted: bool) -> Value {
    let links = rows.chunk_by(RingRow::is_of);
    let findings: Vec<Finding> = links.flat_map(findings).collect();
    json!({
        "version": DOCUMENT_VERSION,
        "scenario": "ring",
        "taut_version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "interrupted": interrupted,
        "coalesce_ns": options.coalesce.0,
        "duration_ns": options.duration.0,
        "repetitions": options.repeat,
        "rows": rows,
        "findings": findings,
    })
}

/// Returns a table for each link, and the comparison of its limits.
pub fn text(rows: &[RingRow]) -> String {
    let mut text = String::new();
    for link in rows.chunk_by(RingRow::is_of) {
        text += &table(link);
        for finding in findings(link) {
            text += &format!("{}\n", finding.sentence());
        }
        text.push('\n');
    }
    text
}

/// A heading, and the cell of a row.
type Column = (&'static str, fn(&RingRow) -> String);

const COLUMNS: [Column; 7] = [
    ("limit", |row| row.limit.clone()),
    ("packets/s", |row| format!("{:.0}", row.pps)),
    ("in flight p50", |row| row.inflight_bytes.p50.to_string()),
    ("p90", |row| row.inflight_bytes.p90.to_string()),
    ("completion p50", |row| {
        format!("{:.0} us", row.completion_us.p50)
    }),
    ("p99", |row| format!("{:.0} us", row.completion_us.p99)),
    ("limit p50", |row| match row.limit_p50 {
        Some(limit) if row.in_packets => format!("{limit}p"),
        Some(limit) => limit.to_string(),
        None => "-".to_owned(),
    }),
];

/// Returns the table of the rows of a link, at least one.
fn table(rows: &[RingRow]) -> String {
    let first = &rows[0];
    let rate = first.rate_bps.map(|rate| format!(" {}", Rate(rate)));
    let title = format!(
        "{} {} over {}{} ({}), completions {}",
        first.driver,
        first.mode,
        first.link,
        rate.unwrap_or_default(),
        first.hardware,
        first.completions
    );
    let columns = COLUMNS.iter().enumerate().map(|(at, (heading, cell))| {
        let cells = rows.iter().map(cell).collect();
        column(heading, cells, at > 0)
    });
    let columns: Vec<Vec<String>> = columns.collect();
    format!("{title}\n{}", side_by_side(&columns, 1, SPACES, None))
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
    let first = &rows[0];
    let rate = first.rate_bps.map(|rate| Rate(rate).to_string());
    let title = format!(
        "{} over {} {} ({})",
        first.driver,
        first.link,
        rate.unwrap_or_default(),
        first.hardware
    );
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
