//! Comparison of each limit with fixed depths.

use serde::Serialize;

use super::rows::RingRow;

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

/// Returns the comparison of every limit.
pub fn findings(rows: &[RingRow]) -> Vec<Finding> {
    let limits = rows
        .iter()
        .filter(|row| !row.is_fixed && row.limit_p50.is_some());
    let finding = |row: &RingRow| {
        let fixed: Vec<&RingRow> = rows
            .iter()
            .filter(|it| it.is_fixed && it.is_of(row))
            .collect();
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
    /// Returns `true` if the limit was measured on the link of `row`.
    pub fn is_of(&self, row: &RingRow) -> bool {
        (self.driver, &self.link, self.rate_bps) == (row.driver, &row.link, row.rate_bps)
    }

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

#[cfg(test)]
mod tests {
    use super::super::rows::example as row;
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
