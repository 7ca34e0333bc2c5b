//! The results as rows.

use serde_json::{Map, Value, json};

use crate::packet::BYTES;
use crate::receiver::Arrivals;

/// Returns the row of a run without a shaper.
pub fn flood_row(packets: u64, ns: u64) -> Map<String, Value> {
    let rate = packets as f64 * 1e9 / ns as f64;
    row(json!({"packets": packets, "packets_per_second": rate.round()}))
}

/// Returns the row of a run with a shaper. `ahead` has the bytes in the ring when an urgent packet
/// was created or inserted.
pub fn rate_row(arrivals: &Arrivals, ns: u64, ahead: &[u64]) -> Map<String, Value> {
    let bits = arrivals.numbers.len() as f64 * f64::from(BYTES) * 8.0;
    let delays: Vec<u64> = arrivals.urgent_ns.iter().map(|ns| ns / 1000).collect();
    row(json!({
        "mbit_per_second": (bits * 1e4 / ns as f64).round() / 10.0,
        "urgent_packets": arrivals.urgent_ns.len(),
        "urgent_p50_us": percentile(&delays, 50),
        "urgent_p99_us": percentile(&delays, 99),
        "ring_bytes_p50": percentile(ahead, 50),
    }))
}

/// Returns the fields of an object.
pub fn row(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(row) => row,
        _ => Map::new(),
    }
}

/// Returns a percentile; 0 of no values.
pub fn percentile(values: &[u64], percent: usize) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let at = values.len() * percent / 100;
    values
        .get(at.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0)
}
