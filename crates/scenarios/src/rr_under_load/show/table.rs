//! Results of the experiment as a table.

use std::fmt::Write;

use taut_measure::meter::Curve;
use taut_path::LateSegmentation;
use taut_report::document::Document;
use taut_report::layout::{Separator, side_by_side};
use taut_report::text::closing;

use super::super::published::Published;
use super::super::row::Row;

/// Block characters of eight heights, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const LINES: Separator = Separator {
    between: " | ",
    on_rule: "-+-",
};

/// Returns the table of `rows` with a curve for each and its notes, at most `width` columns wide.
/// It includes the published rows if they are of the same experiment.
pub fn text(document: &Document, rows: &[Row], is_published: bool, width: Option<usize>) -> String {
    let mut columns = vec![names(rows, is_published)];
    columns.extend(groups().map(|group| group.lines(rows, is_published)));
    if rows.iter().all(|row| row.timer_lateness_us.is_none()) {
        columns.pop();
    }
    let mut text = side_by_side(&columns, 1, LINES, width);
    for row in rows {
        let _ = write!(text, "\n{}\n{}", row.case(), curves(row, rows));
    }
    format!("{text}\n{}", closing(document, width))
}

/// A group of columns: its heading, its width, and the texts for our rows and for published ones.
struct Group {
    head: [&'static str; 2],
    width: usize,
    ours: fn(&Row) -> String,
    published: fn(&Published) -> String,
}

impl Group {
    const fn new(head: [&'static str; 2], ours: fn(&Row) -> String) -> Self {
        Self {
            width: head[1].len(),
            head,
            ours,
            published: |_| String::new(),
        }
    }

    fn lines(&self, rows: &[Row], is_published: bool) -> Vec<String> {
        let width = self.width;
        let mut lines = vec![
            format!("{:^width$}", self.head[0]),
            format!("{:>width$}", self.head[1]),
            "-".repeat(width),
        ];
        for row in rows {
            lines.push(format!("{:>width$}", (self.ours)(row)));
            if let Some(published) = Published::of(&row.case()).filter(|_| is_published) {
                lines.push(format!("{:>width$}", (self.published)(published)));
            }
        }
        lines
    }
}

/// Returns the label of each line.
fn names(rows: &[Row], is_published: bool) -> Vec<String> {
    let limit_width = rows.iter().map(|row| row.limit.to_string().len());
    let width = limit_width.max().unwrap_or(0).max(6);
    // Three letters, to keep the table narrow; `seg` is automatic late segmentation.
    let of_tso = |row: &Row| match (row.tso, row.late_segmentation) {
        (false, _) => "off".to_owned(),
        (true, LateSegmentation::Off) => "on".to_owned(),
        (true, LateSegmentation::Auto) => "seg".to_owned(),
        (true, mode) => mode.to_string(),
    };
    let tso_width = rows.iter().map(|row| of_tso(row).len());
    let tso_width = tso_width.max().unwrap_or(0).max(3);
    let name = |limit: &str, tso: &str| format!("{limit:<width$}  {tso:<tso_width$}");
    let rule = "-".repeat(width + 2 + tso_width);
    let mut lines = vec![name("limit", "TSO"), name("", ""), rule];
    for row in rows {
        lines.push(name(&row.limit.to_string(), &of_tso(row)));
        if is_published && Published::of(&row.case()).is_some() {
            lines.push(format!("{:<1$}", "  published", width + 2 + tso_width));
        }
    }
    lines
}

/// The first four, with the labels, are 80 columns wide.
fn groups() -> [Group; 9] {
    [
        Group {
            published: |published| {
                let ends = published.ring_bytes.iter().map(|&bytes| kilo(bytes as u64));
                format!("{:^31}", ends.collect::<Vec<_>>().join(" to "))
            },
            ..Group::new(
                ["bytes in the ring", "    p10     p50     p90     max"],
                |row| {
                    let bytes = &row.inflight_bytes;
                    let all = [bytes.p10, bytes.p50, bytes.p90, bytes.max];
                    all.map(|bytes| format!("{:>7}", kilo(bytes))).join(" ")
                },
            )
        },
        Group::new(["limit", "   p50"], |row| {
            row.limit_bytes_p50.map_or_else(|| "-".to_owned(), kilo)
        }),
        Group::new(["backlog", "  p50   max"], |row| {
            let backlog = &row.backlog_packets;
            format!("{:>5} {:>5}", backlog.p50, backlog.max)
        }),
        Group {
            published: |published| published.rr_tps.to_string(),
            ..Group::new(["trans-", "actions/s"], |row| format!("{:.1}", row.rr_tps))
        },
        Group::new(["latency", "    p50     p99"], |row| {
            let us = |share| time(row.latency_ns.value_at_quantile(share) / 1000);
            format!("{:>7} {:>7}", us(0.5), us(0.99))
        }),
        Group::new(["goodput", " Mbit/s"], |row| {
            (row.goodput_bps / 1_000_000).to_string()
        }),
        Group::new(["CPU", "   %"], |row| {
            row.cpu_percent
                .map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0}"))
        }),
        Group::new(["packets", "drops  marks resent"], |row| {
            format!("{:>5} {:>6} {:>6}", row.drops, row.marks, row.retransmits)
        }),
        Group::new(["timers", "late p99"], |row| {
            row.timer_lateness_us
                .map_or_else(|| "-".to_owned(), |late| time(late.p99))
        }),
    ]
}

/// Returns the curves of a row with their maxima. The ring has the scale of the fullest ring with
/// the same TSO setting, so that the effect of the limit is visible. The limit has its own scale.
fn curves(row: &Row, rows: &[Row]) -> String {
    let Curve {
        in_flight_bytes,
        limit,
    } = &row.curve;
    let same_tso = rows.iter().filter(|other| other.tso == row.tso);
    let fullest = same_tso
        .map(|row| largest(&row.curve.in_flight_bytes))
        .max()
        .unwrap_or(0);
    let drawn = sparkline(in_flight_bytes, fullest);
    let mut text = format!("in ring {:>7} {drawn}\n", kilo(largest(in_flight_bytes)));
    if row.limit_bytes_p50.is_some() {
        let highest = largest(limit);
        let _ = writeln!(
            text,
            "limit   {:>7} {}",
            kilo(highest),
            sparkline(limit, highest)
        );
    }
    text
}

/// Draws values between 0 and `full`.
fn sparkline(values: &[u64], full: u64) -> String {
    let steps = BARS.len() as u64 - 1;
    let bar = |&value: &u64| BARS[(value.min(full) * steps / full.max(1)) as usize];
    values.iter().map(bar).collect()
}

fn largest(values: &[u64]) -> u64 {
    values.iter().copied().max().unwrap_or(0)
}

/// Formats bytes in thousands, as in the published tables.
fn kilo(bytes: u64) -> String {
    match bytes {
        0..10_000 => bytes.to_string(),
        10_000..100_000 => format!("{}.{}K", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}K", bytes / 1000),
    }
}

/// Formats a latency in us.
fn time(us: u64) -> String {
    match us {
        0..10_000 => format!("{us}us"),
        _ => format!("{}.{}ms", us / 1000, us % 1000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparkline_spans_its_scale() {
        assert_eq!(sparkline(&[0, 50, 100], 100), "▁▄█");
        assert_eq!(sparkline(&[10, 20], 200), "▁▁");
        assert_eq!(sparkline(&[0, 0], 0), "▁▁");
        assert_eq!(sparkline(&[], 0), "");
    }

    #[test]
    fn bytes_and_times_are_short() {
        assert_eq!(
            [999, 9_999, 63_615, 3_104_768].map(kilo),
            ["999", "9999", "63.6K", "3104K"]
        );
        assert_eq!(
            [0, 9_999, 10_000, 134_567].map(time),
            ["0us", "9999us", "10.0ms", "134.5ms"]
        );
    }
}
