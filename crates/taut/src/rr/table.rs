//! What the experiment showed, for people.

use std::fmt::Write;

use taut_sim::meter::Curve;
use taut_sim::scenario::rr_under_load::{Published, Row};

/// Eighths of a column, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const HEADER: &str = "\
limit   TSO |       bytes in the ring         |  limit |   waiting   | transactions |     latency     | goodput |  CPU | drops  marks   sent
            |    p10     p50     p90     max  |    p50 |  p50    max |   per second |    p50      p99 |  Mbit/s |    % |              again
------------+---------------------------------+--------+-------------+--------------+-----------------+---------+------+--------------------
";

/// The table, with the published rows beside ours if they are of the same experiment, and a curve
/// for each row.
pub fn table(rows: &[Row], is_published: bool) -> String {
    let mut text = String::from(HEADER);
    for row in rows {
        write_row(&mut text, row);
        if is_published && let Some(published) = Published::of(&row.case()) {
            let [low, high] = published.ring_bytes;
            let bytes = if low == high {
                kilo(low)
            } else {
                format!("{} to {}", kilo(low), kilo(high))
            };
            let tps = published.rr_tps;
            let _ = writeln!(
                text,
                "  published | {bytes:^31} | {:>6} | {:>11} | {tps:>12} |",
                "", ""
            );
        }
    }
    for row in rows {
        let _ = write!(text, "\n{}\n{}", row.case(), curves(row, rows));
    }
    text
}

fn write_row(text: &mut String, row: &Row) {
    let bytes = &row.inflight_bytes;
    let limit = row.limit_bytes_p50.map_or_else(|| "-".to_owned(), kilo);
    let cpu = row
        .cpu_percent
        .map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0}"));
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{:<6}  {:<3} | {:>7} {:>7} {:>7} {:>7} | {limit:>6} | {:>5} {:>5} | {:>12.1} | {:>7} {:>7} | {:>7} | {cpu:>4} | {:>5} {:>6} {:>6}",
        row.limit.to_string(),
        if row.tso { "on" } else { "off" },
        kilo(bytes.p10),
        kilo(bytes.p50),
        kilo(bytes.p90),
        kilo(bytes.max),
        row.waiting_packets.p50,
        row.waiting_packets.max,
        row.rr_tps,
        time(row.rr_latency_us.p50),
        time(row.rr_latency_us.p99),
        row.goodput_bps / 1_000_000,
        row.drops,
        row.marks,
        row.retransmits,
    );
}

/// The course of a row. The ring is drawn on the scale of the fullest ring with the same TSO
/// setting, so that what the limit takes away is seen; the limit on its own.
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
    let mut text = format!(
        "  in ring {drawn} up to {}\n",
        kilo(largest(in_flight_bytes))
    );
    if row.limit_bytes_p50.is_some() {
        let highest = largest(limit);
        let _ = writeln!(
            text,
            "  limit   {} up to {}",
            sparkline(limit, highest),
            kilo(highest)
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

/// Bytes in thousands, as the published tables give them.
fn kilo(bytes: u64) -> String {
    match bytes {
        0..10_000 => bytes.to_string(),
        10_000..100_000 => format!("{}.{}K", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}K", bytes / 1000),
    }
}

/// A latency given in us.
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
    fn a_sparkline_spans_its_scale_and_survives_an_empty_one() {
        assert_eq!(sparkline(&[0, 50, 100], 100), "▁▄█");
        assert_eq!(sparkline(&[10, 20], 200), "▁▁");
        assert_eq!(sparkline(&[0, 0], 0), "▁▁");
        assert_eq!(sparkline(&[], 0), "");
    }

    #[test]
    fn bytes_and_times_are_as_short_as_they_can_be_exact() {
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
