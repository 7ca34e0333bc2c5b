//! What each limit gives, compared with fixed depths.

use serde::Serialize;

use super::rows::RingRow;

/// The share of the best throughput that is as good as all.
const ENOUGH: f64 = 0.99;

/// What a limit gives, compared with fixed depths on the same link.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub driver: &'static str,
    pub link: String,
    pub rate_bps: Option<u64>,
    pub limit: String,
    /// Of the best fixed depth's packets a second.
    pub throughput_share: f64,
    /// The least fixed depth that reaches 99 % of the best.
    pub least_depth: Option<String>,
    /// Times the bytes in flight of that depth.
    pub inflight_ratio: Option<f64>,
}

/// For every limit what it gives.
pub fn findings(rows: &[RingRow]) -> Vec<Finding> {
    let limits = rows
        .iter()
        .filter(|row| !row.is_fixed && !row.is_bare() && row.limit_p50.is_some());
    let finding = |row: &RingRow| {
        let fixed: Vec<&RingRow> = rows
            .iter()
            .filter(|it| it.is_fixed && it.is_of(row))
            .collect();
        let best = fixed.iter().map(|it| it.pps).max_by(f64::total_cmp)?;
        // Depths are in the order in which they were measured: from the least on.
        let least = fixed.iter().find(|it| it.pps >= ENOUGH * best);
        let ratio = |least: &&RingRow| {
            row.inflight_bytes.p50 as f64 / (least.inflight_bytes.p50 as f64).max(1.0)
        };
        Some(Finding {
            driver: row.driver,
            link: row.link.clone(),
            rate_bps: row.rate_bps,
            limit: row.limit.clone(),
            throughput_share: three_decimals(row.pps / best.max(1.0)),
            least_depth: least.map(|least| least.limit.clone()),
            inflight_ratio: least.map(|least| three_decimals(ratio(least))),
        })
    };
    limits.filter_map(finding).collect()
}

fn three_decimals(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

impl Finding {
    /// Returns `true` if it is about the link of `row`.
    pub fn is_of(&self, row: &RingRow) -> bool {
        (self.driver, &self.link, self.rate_bps) == (row.driver, &row.link, row.rate_bps)
    }

    /// A sentence for people.
    pub fn sentence(&self) -> String {
        let share = self.throughput_share * 100.0;
        let compared = match (&self.least_depth, self.inflight_ratio) {
            (Some(depth), Some(ratio)) => format!(
                "; {ratio:.2} times the bytes in flight of {depth}, the least depth that reaches \
                 99 %"
            ),
            _ => String::new(),
        };
        let limit = &self.limit;
        format!("{limit}: {share:.1} % of the best depth's throughput{compared}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::example as row;
    use super::*;

    #[test]
    fn a_limit_is_held_against_the_least_depth_that_is_enough() {
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
        assert_eq!(finding.least_depth.as_deref(), Some("4p"));
        assert_eq!(
            (finding.throughput_share, finding.inflight_ratio),
            (1.0, Some(1.5))
        );
        assert!(finding.sentence().contains("1.50 times"));
    }
}
