//! The table of E1: the results of each row, the published ones below it, and curves over time.

use std::fmt::Write;

use serde_json::Value;
use taut_report::document::{Document, Figure};
use taut_report::layout::{Separator, side_by_side};
use taut_report::text::closing;

use super::Case;
use super::charts::{IN_RING, LIMIT};
use super::published::{BYTES, TPS, published_id};
use crate::lines::points;

/// Block characters of eight heights, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const LINES: Separator = Separator {
    between: " | ",
    on_rule: "-+-",
};

/// A row of the document, with its name and the published bytes in the ring and transactions.
struct ShownRow<'d> {
    values: &'d Value,
    name: String,
    published: Option<(&'d Figure, &'d Figure)>,
}

/// Returns the table with a curve for each row and its notes, at most `width` columns wide.
pub(crate) fn text(document: &Document, width: Option<usize>) -> String {
    let rows: Vec<ShownRow> = document.rows.iter().map(|it| row(document, it)).collect();
    let mut columns = vec![names(&rows)];
    columns.extend(groups().map(|group| group.lines(&rows)));
    if rows
        .iter()
        .all(|row| row.values["timer_lateness_us"].is_null())
    {
        columns.pop();
    }
    let mut text = side_by_side(&columns, 1, LINES, width);
    for row in &rows {
        let _ = write!(text, "\n{}\n{}", row.name, curves(document, row, &rows));
    }
    format!("{text}\n{}", closing(document, width))
}

fn row<'d>(document: &'d Document, values: &'d Value) -> ShownRow<'d> {
    let case = Case::of_row(values);
    let id = case.as_ref().and_then(published_id);
    let figure = |what| {
        let id = format!("{}/{what}", id.as_ref()?);
        document.figures.iter().find(|figure| figure.id == id)
    };
    ShownRow {
        values,
        name: case.map_or_else(|| values["limit"].to_string(), |case| case.to_string()),
        published: figure(BYTES).zip(figure(TPS)),
    }
}

/// A group of columns: its heading, its width, and the texts for our rows and for published ones.
struct Group {
    head: [&'static str; 2],
    width: usize,
    ours: fn(&Value) -> String,
    published: fn(&Figure, &Figure) -> String,
}

impl Group {
    const fn new(head: [&'static str; 2], ours: fn(&Value) -> String) -> Self {
        Self {
            width: head[1].len(),
            head,
            ours,
            published: |_, _| String::new(),
        }
    }

    fn lines(&self, rows: &[ShownRow]) -> Vec<String> {
        let width = self.width;
        let mut lines = vec![
            format!("{:^width$}", self.head[0]),
            format!("{:>width$}", self.head[1]),
            "-".repeat(width),
        ];
        for row in rows {
            lines.push(format!("{:>width$}", (self.ours)(row.values)));
            let published = row.published.iter();
            lines.extend(published.map(|(bytes, tps)| {
                let text = (self.published)(bytes, tps);
                format!("{text:>width$}")
            }));
        }
        lines
    }
}

/// Returns the label of each line.
fn names(rows: &[ShownRow]) -> Vec<String> {
    // Three letters, to keep the table narrow; `seg` is automatic late segmentation.
    let labels = rows.iter().map(|row| {
        let limit = row.values["limit"].as_str().unwrap_or_default();
        let tso = match row.values["late_segmentation"].as_str() {
            _ if row.values["tso"] == false => "off",
            None | Some("off") => "on",
            Some("auto") => "seg",
            Some(mode) => mode,
        };
        (limit, tso)
    });
    let labels: Vec<(&str, &str)> = labels.collect();
    let width = labels.iter().map(|it| it.0.len()).max().unwrap_or(0).max(6);
    let tso_width = labels.iter().map(|it| it.1.len()).max().unwrap_or(0).max(3);
    let name = |limit: &str, tso: &str| format!("{limit:<width$}  {tso:<tso_width$}");
    let rule = "-".repeat(width + 2 + tso_width);
    let mut lines = vec![name("limit", "TSO"), name("", ""), rule];
    for (row, (limit, tso)) in rows.iter().zip(labels) {
        lines.push(name(limit, tso));
        if row.published.is_some() {
            lines.push(format!("{:<1$}", "  published", width + 2 + tso_width));
        }
    }
    lines
}

/// The first four, with the labels, are 80 columns wide.
fn groups() -> [Group; 9] {
    [
        Group {
            published: |bytes, _| {
                let ends = bytes.published.iter().map(|&bytes| kilo(bytes as u64));
                format!("{:^31}", ends.collect::<Vec<_>>().join(" to "))
            },
            ..Group::new(
                ["bytes in the ring", "    p10     p50     p90     max"],
                |row| {
                    let bytes = |name| kilo(number(&row["inflight_bytes"][name]));
                    let all = ["p10", "p50", "p90", "max"];
                    all.map(|name| format!("{:>7}", bytes(name))).join(" ")
                },
            )
        },
        Group::new(["limit", "   p50"], |row| {
            or_dash(&row["limit_bytes_p50"], |bytes| kilo(bytes as u64))
        }),
        Group::new(["backlog", "  p50   max"], |row| {
            let packets = |name| number(&row["backlog_packets"][name]);
            format!("{:>5} {:>5}", packets("p50"), packets("max"))
        }),
        Group {
            published: |_, tps| tps.published[0].to_string(),
            ..Group::new(["trans-", "actions/s"], |row| {
                or_dash(&row["rr_tps"], |tps| format!("{tps:.1}"))
            })
        },
        Group::new(["latency", "    p50     p99"], |row| {
            let us = |name| time(number(&row["rr_latency_us"][name]));
            format!("{:>7} {:>7}", us("p50"), us("p99"))
        }),
        Group::new(["goodput", " Mbit/s"], |row| {
            (number(&row["goodput_bps"]) / 1_000_000).to_string()
        }),
        Group::new(["CPU", "   %"], |row| {
            or_dash(&row["cpu_percent"], |percent| format!("{percent:.0}"))
        }),
        Group::new(["packets", "drops  marks resent"], |row| {
            let packets = |name| number(&row[name]);
            let (drops, marks) = (packets("drops"), packets("marks"));
            format!("{drops:>5} {marks:>6} {:>6}", packets("retransmits"))
        }),
        Group::new(["timers", "late p99"], |row| {
            or_dash(&row["timer_lateness_us"]["p99"], |us| time(us as u64))
        }),
    ]
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn or_dash(value: &Value, text: impl Fn(f64) -> String) -> String {
    value.as_f64().map_or_else(|| "-".to_owned(), text)
}

/// Returns the curves of a row with their maxima. The ring has the scale of the fullest ring with
/// the same TSO setting, so that the effect of the limit is visible. The limit has its own scale.
fn curves(document: &Document, row: &ShownRow, rows: &[ShownRow]) -> String {
    let curve = |row: &ShownRow, name| values(points(document, &row.name, name).unwrap_or(&[]));
    let same_tso = rows
        .iter()
        .filter(|it| it.values["tso"] == row.values["tso"]);
    let fullest = same_tso.map(|row| largest(&curve(row, IN_RING))).max();
    let line = |label, values: &[u64], full| {
        let drawn = sparkline(values, full);
        format!("{label} {:>7} {drawn}\n", kilo(largest(values)))
    };
    let mut text = line("in ring", &curve(row, IN_RING), fullest.unwrap_or(0));
    let limit = curve(row, LIMIT);
    if !limit.is_empty() {
        text += &line("limit  ", &limit, largest(&limit));
    }
    text
}

/// Returns the value of each step. The last point is the end of the last step.
fn values(points: &[(u64, f64)]) -> Vec<u64> {
    let steps = points.len().saturating_sub(1);
    points[..steps].iter().map(|point| point.1 as u64).collect()
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
