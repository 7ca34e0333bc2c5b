//! The table of a link.

use taut_path::units::Rate;
use taut_report::layout::{SPACES, column, side_by_side};

use super::config::USUAL_DEPTH;
use super::rows::{BARE, RingRow};

/// Returns the comparison with the bare loop: the cost of the path without other costs.
pub fn compared_with_bare(rows: &[&RingRow]) -> Option<String> {
    let pps = |name: &str| rows.iter().find(|row| row.limit == name).map(|row| row.pps);
    let usual_name = format!("{USUAL_DEPTH}p");
    let (bare, usual) = (pps(BARE)?, pps(&usual_name)?);
    let limits = rows.iter().filter(|row| !row.is_fixed && !row.is_bare());
    let limits: Vec<String> = limits
        .map(|row| format!("{} {:.1} %", row.limit, row.pps / usual.max(1.0) * 100.0))
        .collect();
    Some(format!(
        "a limit of {usual_name} has {:.1} % of the packet rate of the bare loop, which has no \
         taut queue. Rates relative to {usual_name}: {}",
        usual / bare.max(1.0) * 100.0,
        limits.join(", ")
    ))
}

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
        let bare = |text: String| if row.is_bare() { "-".to_owned() } else { text };
        let limit = match row.limit_p50 {
            Some(limit) if row.in_packets => format!("{limit}p"),
            Some(limit) => format!("{limit}"),
            None => "-".into(),
        };
        [
            row.limit.clone(),
            format!("{:.0}", row.pps),
            bare(row.inflight_bytes.p50.to_string()),
            bare(row.inflight_bytes.p90.to_string()),
            bare(format!("{:.0} us", row.completion_us.p50)),
            bare(format!("{:.0} us", row.completion_us.p99)),
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

#[cfg(test)]
mod tests {
    use super::super::rows::example as row;
    use super::*;

    #[test]
    fn path_is_compared_with_bare_loop() {
        let rows = [
            row("bare loop", 1_000_000.0, 0),
            row("1024p", 960_000.0, 1_000_000),
            row("dql", 950_000.0, 80_000),
        ];
        let line = compared_with_bare(&rows.iter().collect::<Vec<_>>()).expect("both rows");
        assert!(
            line.contains("96.0 % of the packet rate of the bare loop"),
            "{line}"
        );
        assert!(line.contains("dql 99.0 %"), "{line}");
    }
}
