//! The rows as data, and the comparison of each limit with the fixed depths.

use serde::Serialize;
use taut_path::units::Rate;
use taut_relay::transmit::Outcome;
use taut_report::number::one_decimal;

use super::case::RingCase;
use crate::experiment;

#[derive(Debug, Clone, Serialize)]
pub struct InFlight {
    pub p50: u64,
    pub p90: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Completion {
    pub p50: f64,
    pub p99: f64,
}

/// The medians of a row's runs. The first text fields identify a row in the table.
#[derive(Debug, Clone, Serialize)]
pub struct RingRow {
    pub driver: &'static str,
    pub link: String,
    pub limit: String,
    /// Rate of the shaper; `null` without one.
    pub rate_bps: Option<u64>,
    pub pps: f64,
    pub inflight_bytes: InFlight,
    pub completion_us: Completion,
    /// The median of the limit, in its units; `null` without a limit.
    pub limit_p50: Option<u64>,
    /// Packets per second relative to the best fixed depth on the same link; `null` for a depth,
    /// without a limit and without depths.
    pub throughput_share: Option<f64>,
    /// The smallest depth with 99 % of the packets per second of the best depth.
    pub smallest_sufficient_depth: Option<String>,
    /// Bytes in flight relative to that depth.
    pub inflight_ratio: Option<f64>,
    pub mode: &'static str,
    pub completions: &'static str,
    /// `virtual`, or `card` for a card of the user.
    pub hardware: &'static str,
    #[serde(skip)]
    pub is_fixed: bool,
}

impl RingRow {
    /// Returns the row of a case; `None` without a run.
    pub fn new(measured: &experiment::Row<RingCase, Outcome>) -> Option<Self> {
        let RingCase {
            driver,
            link,
            limit,
        } = &measured.case;
        let median = |of: fn(&Outcome) -> f64| measured.median(of).unwrap_or(0.0);
        let last = measured.runs.last()?;
        let limit = limit.to_string();
        Some(Self {
            driver: driver.name(),
            link: link.name(*driver),
            rate_bps: link.rate_bits_per_s(),
            is_fixed: is_depth(&limit),
            limit,
            pps: one_decimal(median(|ran| ran.measurements.packets_per_s)),
            inflight_bytes: InFlight {
                p50: median(|ran| ran.measurements.in_flight_p50_bytes as f64) as u64,
                p90: median(|ran| ran.measurements.in_flight_p90_bytes as f64) as u64,
            },
            completion_us: Completion {
                p50: one_decimal(median(|ran| ran.measurements.completion_p50_ns as f64) / 1e3),
                p99: one_decimal(median(|ran| ran.measurements.completion_p99_ns as f64) / 1e3),
            },
            limit_p50: (last.measurements.limit_p50)
                .map(|_| median(|ran| ran.measurements.limit_p50.unwrap_or(0) as f64) as u64),
            throughput_share: None,
            smallest_sufficient_depth: None,
            inflight_ratio: None,
            mode: last.mode,
            completions: last.completion_status.name(),
            hardware: if link.is_virtual() { "virtual" } else { "card" },
        })
    }

    /// Returns `true` if both rows were measured on one link.
    pub fn is_of(&self, other: &Self) -> bool {
        (self.driver, &self.link, self.rate_bps) == (other.driver, &other.link, other.rate_bps)
    }
}

/// Returns `true` if a limit is a number of packets.
fn is_depth(limit: &str) -> bool {
    let packets = limit.strip_suffix('p');
    packets.is_some_and(|packets| packets.parse::<u32>().is_ok())
}

/// The share of the best throughput that is sufficient.
const ENOUGH: f64 = 0.99;

/// Compares each limit with the fixed depths on the same link.
pub fn compare(rows: &mut [RingRow]) {
    for link in rows.chunk_by_mut(RingRow::is_of) {
        let fixed = || link.iter().filter(|row| row.is_fixed);
        let best_pps = fixed().map(|it| it.pps).fold(0.0, f64::max);
        // Depths were measured in increasing order.
        let Some(smallest) = fixed().find(|it| it.pps >= ENOUGH * best_pps) else {
            continue;
        };
        let depth = smallest.limit.clone();
        let depth_bytes = smallest.inflight_bytes.p50.max(1) as f64;
        let limits = link.iter_mut().filter(|row| !row.is_fixed);
        for row in limits.filter(|row| row.limit_p50.is_some()) {
            let ratio = row.inflight_bytes.p50 as f64 / depth_bytes;
            row.throughput_share = Some(three_decimals(row.pps / best_pps.max(1.0)));
            row.smallest_sufficient_depth = Some(depth.clone());
            row.inflight_ratio = Some(three_decimals(ratio));
        }
    }
}

fn three_decimals(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

impl RingRow {
    /// Returns the driver, the link and its rate.
    pub fn ring(&self) -> String {
        let rate = self.rate_bps.map(|rate| format!(" {}", Rate(rate)));
        let rate = rate.unwrap_or_default();
        format!(
            "{} over {}{rate} ({})",
            self.driver, self.link, self.hardware
        )
    }

    /// Returns the comparison of a limit as text.
    pub fn note(&self) -> Option<String> {
        let (share, ratio) = (self.throughput_share? * 100.0, self.inflight_ratio?);
        let (ring, limit) = (self.ring(), &self.limit);
        let depth = self.smallest_sufficient_depth.as_ref()?;
        Some(format!(
            "{ring}: {limit}: {share:.1} % of the throughput of the best depth; {ratio:.2} times \
             the bytes in flight of depth {depth}, the smallest one with 99 % of the best \
             throughput"
        ))
    }
}

/// Returns a row for tests.
#[cfg(test)]
pub fn example(limit: &str, pps: f64, in_flight: u64) -> RingRow {
    RingRow {
        driver: "af_packet",
        link: "veth, tbf".into(),
        limit: limit.into(),
        rate_bps: Some(100_000_000),
        pps,
        inflight_bytes: InFlight {
            p50: in_flight,
            p90: in_flight,
        },
        completion_us: Completion { p50: 1.0, p99: 2.0 },
        limit_p50: Some(in_flight),
        throughput_share: None,
        smallest_sufficient_depth: None,
        inflight_ratio: None,
        mode: "ring",
        completions: "valid",
        hardware: "virtual",
        is_fixed: is_depth(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::example as row;
    use super::*;

    #[test]
    fn limit_is_compared_with_smallest_sufficient_depth() {
        let mut rows = [
            row("1p", 4_000.0, 1_514),
            row("4p", 8_250.0, 6_056),
            row("16p", 8_256.0, 24_224),
            row("dql", 8_256.0, 9_084),
            row("off", 8_256.0, 90_840),
        ];
        rows[4].limit_p50 = None;
        compare(&mut rows);
        let notes: Vec<String> = rows.iter().filter_map(RingRow::note).collect();
        let dql = &rows[3];
        assert_eq!(dql.smallest_sufficient_depth.as_deref(), Some("4p"));
        assert_eq!(
            dql.throughput_share.zip(dql.inflight_ratio),
            Some((1.0, 1.5))
        );
        let [note] = &notes[..] else {
            panic!("{notes:?}");
        };
        assert!(note.starts_with("af_packet over veth, tbf 100mbit (virtual): dql: 100.0 %"));
        assert!(
            note.contains("1.50 times the bytes in flight of depth 4p"),
            "{note}"
        );
    }

    #[test]
    fn limit_without_depths_is_not_compared() {
        let mut rows = [row("dql", 8_256.0, 9_084)];
        compare(&mut rows);
        assert_eq!(rows[0].note(), None);
    }
}
