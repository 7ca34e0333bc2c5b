//! The table of a link.

use taut_path::units::Rate;
use taut_report::layout::{SPACES, column, side_by_side};

use super::rows::RingRow;

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
pub fn table(rows: &[RingRow]) -> String {
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
