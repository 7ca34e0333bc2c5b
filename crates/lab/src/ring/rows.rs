//! The rows, as data.

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
            link: link.name(),
            hardware,
            rate_bps: link.rate_bits_per_s(),
            is_fixed: is_depth(&limit),
            limit,
            pps: one_decimal(median(|ran| ran.measurements.rate.packets_per_s)),
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
