//! What a lab found, for people.

use std::fmt::Write;

use super::meter::Curve;
use super::options::RrUnderLoad;
use super::published::published;
use super::results::{Results, Row};

/// Eighths of a column, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const HEADER: &str = "\
limit  TSO |        bytes in the ring          |  limit | transactions |    latency    | goodput |  CPU
           |    p10     p50     p90     max    |   p50  |   per second |   p50    p99  |  Mbit/s |    %
-----------+-----------------------------------+--------+--------------+---------------+---------+-----
";

/// The table, with the published rows beside ours, and a curve for each row.
pub fn table(options: &RrUnderLoad, results: &Results) -> String {
    let mut text = String::from(HEADER);
    for row in &results.rows {
        write_row(&mut text, row);
        if let Some(published) = published(options, row.case()) {
            let [low, high] = published.ring_bytes;
            let bytes = if low == high {
                kilo(low)
            } else {
                format!("{} to {}", kilo(low), kilo(high))
            };
            let tps = published.rr_tps;
            let _ = writeln!(text, " published | {bytes:^33} | {:>6} | {tps:>12} |", "");
        }
    }
    for row in &results.rows {
        let _ = write!(text, "\n{}\n{}", row.case(), curves(row));
    }
    text
}

fn write_row(text: &mut String, row: &Row) {
    let on_off = |on| if on { "on" } else { "off" };
    let bytes = &row.inflight_bytes;
    let limit = row.limit_bytes_p50.map_or_else(|| "-".to_owned(), kilo);
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{:<5}  {:<3} | {:>7} {:>7} {:>7} {:>7}   | {:>6} | {:>12.1} | {:>6} {:>6} | {:>7} | {:>4.0}{}",
        on_off(row.bql),
        on_off(row.tso),
        kilo(bytes.p10),
        kilo(bytes.p50),
        kilo(bytes.p90),
        kilo(bytes.max),
        limit,
        row.rr_tps,
        time(row.rr_latency_us.p50),
        time(row.rr_latency_us.p99),
        row.goodput_bps / 1_000_000,
        row.cpu_percent,
        if row.drops > 0 {
            format!("  ({} drops)", row.drops)
        } else {
            String::new()
        },
    );
}

/// The course of a row, its scale given by its own maximum.
fn curves(row: &Row) -> String {
    let Curve {
        in_flight_bytes,
        limit,
    } = &row.curve;
    let mut text = format!(
        "  in ring {} {}\n",
        sparkline(in_flight_bytes),
        up_to(in_flight_bytes)
    );
    if row.limit_bytes_p50.is_some() {
        let _ = writeln!(text, "  limit   {} {}", sparkline(limit), up_to(limit));
    }
    text
}

fn sparkline(values: &[u64]) -> String {
    let max = values.iter().copied().max().unwrap_or(0).max(1);
    values
        .iter()
        .map(|&value| BARS[(value * (BARS.len() as u64 - 1) / max) as usize])
        .collect()
}

fn up_to(values: &[u64]) -> String {
    format!("up to {}", kilo(values.iter().copied().max().unwrap_or(0)))
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
