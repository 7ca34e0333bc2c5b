//! The table of a link.

use taut_path::units::Rate;
use taut_report::layout::{SPACES, column, side_by_side};

use super::rows::RingRow;

const HEADS: [&str; 7] = [
    "limit",
    "packets/s",
    "in flight p50",
    "p90",
    "completion p50",
    "p99",
    "limit p50",
];

pub fn table(rows: &[&RingRow]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let rate = match first.rate_bps {
        Some(rate) => format!(" {}", Rate(rate)),
        None => String::new(),
    };
    let title = format!(
        "{} {} over {}{rate} ({}), completions {}",
        first.driver, first.mode, first.link, first.hardware, first.completions
    );
    let cells = |row: &&RingRow| {
        let limit = match row.limit_p50 {
            Some(limit) if row.in_packets => format!("{limit}p"),
            Some(limit) => format!("{limit}"),
            None => "-".into(),
        };
        [
            row.limit.clone(),
            format!("{:.0}", row.pps),
            row.inflight_bytes.p50.to_string(),
            row.inflight_bytes.p90.to_string(),
            format!("{:.0} us", row.completion_us.p50),
            format!("{:.0} us", row.completion_us.p99),
            limit,
        ]
    };
    let lines: Vec<[String; 7]> = rows.iter().map(cells).collect();
    let cells_of = |at: usize| lines.iter().map(|line| line[at].clone()).collect();
    let columns = (0..).zip(HEADS);
    let columns: Vec<Vec<String>> = columns
        .map(|(at, heading)| column(heading, cells_of(at), at > 0))
        .collect();
    format!("{title}\n{}", side_by_side(&columns, 1, SPACES, None))
}
