//! The rows as data, and the comparison of each limit with fixed depths.

use serde::Serialize;
use taut_path::limit::Unit;
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

/// The medians of a row's runs.
#[derive(Debug, Clone, Serialize)]
pub struct RingRow {
    pub driver: &'static str,
    pub mode: &'static str,
    pub link: String,
    /// `virtual`, or `card` for a card of the user.
    pub hardware: &'static str,
    /// Rate of the shaper; `null` without one.
    pub rate_bps: Option<u64>,
    pub limit: String,
    pub pps: f64,
    pub inflight_bytes: InFlight,
    pub completion_us: Completion,
    pub completions: &'static str,
    /// The median of the limit, in its units; `null` without a limit.
    pub limit_p50: Option<u64>,
    #[serde(skip)]
    pub in_packets: bool,
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
        let hardware = if link.is_virtual() { "virtual" } else { "card" };
        Some(Self {
            driver: driver.name(),
            mode: last.mode,
            link: link.name(*driver),
            hardware,
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
            completions: last.completion_status.name(),
            limit_p50: (last.measurements.limit_p50)
                .map(|_| median(|ran| ran.measurements.limit_p50.unwrap_or(0) as f64) as u64),
            in_packets: last.limit_unit == Unit::Packets,
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

/// A limit, compared with fixed depths on the same link.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub driver: &'static str,
    pub link: String,
    pub rate_bps: Option<u64>,
    pub limit: String,
    /// Packets per second relative to the best fixed depth.
    pub throughput_share: f64,
    /// The smallest sufficient depth: it reaches 99 % of the best.
    pub smallest_sufficient_depth: Option<String>,
    /// Bytes in flight relative to that depth.
    pub inflight_ratio: Option<f64>,
}

/// Returns the comparison of every limit on one link.
pub fn findings(link: &[RingRow]) -> Vec<Finding> {
    let (fixed, others): (Vec<&RingRow>, Vec<&RingRow>) = link.iter().partition(|row| row.is_fixed);
    let limits = others.into_iter().filter(|row| row.limit_p50.is_some());
    let finding = |row: &RingRow| {
        let best = fixed.iter().map(|it| it.pps).max_by(f64::total_cmp)?;
        // Depths were measured in increasing order.
        let smallest = fixed.iter().find(|it| it.pps >= ENOUGH * best);
        let ratio = |smallest: &&RingRow| {
            row.inflight_bytes.p50 as f64 / (smallest.inflight_bytes.p50 as f64).max(1.0)
        };
        Some(Finding {
            driver: row.driver,
            link: row.link.clone(),
            rate_bps: row.rate_bps,
            limit: row.limit.clone(),
            throughput_share: three_decimals(row.pps / best.max(1.0)),
            smallest_sufficient_depth: smallest.map(|smallest| smallest.limit.clone()),
            inflight_ratio: smallest.map(|smallest| three_decimals(ratio(smallest))),
        })
    };
    limits.filter_map(finding).collect()
}

fn three_decimals(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

impl Finding {
    /// Returns the comparison as text.
    pub fn sentence(&self) -> String {
        let share = self.throughput_share * 100.0;
        let compared = match (&self.smallest_sufficient_depth, self.inflight_ratio) {
            (Some(depth), Some(ratio)) => format!(
                "; {ratio:.2} times the bytes in flight of depth {depth}, the smallest one with \
                 99 % of the best throughput"
            ),
            _ => String::new(),
        };
        let limit = &self.limit;
        format!("{limit}: {share:.1} % of the throughput of the best depth{compared}")
    }
}

/// Returns a row for tests.
#[cfg(test)]
pub fn example(limit: &str, pps: f64, in_flight: u64) -> RingRow {
    RingRow {
        driver: "af_packet",
        mode: "ring",
        link: "veth, tbf".into(),
        hardware: "virtual",
        rate_bps: Some(100_000_000),
        limit: limit.into(),
        pps,
        inflight_bytes: InFlight {
            p50: in_flight,
            p90: in_flight,
        },
        completion_us: Completion { p50: 1.0, p99: 2.0 },
        completions: "valid",
        limit_p50: Some(in_flight),
        in_packets: limit.ends_with('p'),
        is_fixed: is_depth(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::example as row;
    use super::*;

    #[test]
    fn limit_is_compared_with_smallest_sufficient_depth() {
        let rows = [
            row("1p", 4_000.0, 1_514),
            row("4p", 8_250.0, 6_056),
            row("16p", 8_256.0, 24_224),
            row("dql", 8_256.0, 9_084),
        ];
        let findings = findings(&rows);
        let [finding] = &findings[..] else {
            panic!("{findings:?}");
        };
        assert_eq!(finding.smallest_sufficient_depth.as_deref(), Some("4p"));
        assert_eq!(
            (finding.throughput_share, finding.inflight_ratio),
            (1.0, Some(1.5))
        );
        assert!(finding.sentence().contains("1.50 times"));
    }
}
