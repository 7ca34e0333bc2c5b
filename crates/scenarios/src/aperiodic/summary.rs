//! The rules in short, over all patterns.

use serde_json::{Value, json};

use taut_report::document::Summary;

/// The yardstick's name among the rules.
pub(super) const LEAST_FIXED: &str = "least fixed";

/// Each rule over all patterns, against the least fixed limit of each.
pub(super) fn of(rows: &[Value]) -> Option<Summary> {
    let of_pattern = |pattern: &Value, rule: &str| {
        rows.iter()
            .find(|row| row["pattern"] == *pattern && row["rule"] == rule)
    };
    let first = rows.first()?["pattern"].clone();
    let rules = rows.iter().take_while(|row| row["pattern"] == first);
    let summary = rules.map(|of_first| {
        let rule = of_first["rule"].as_str().unwrap_or_default();
        let of_rule: Vec<&Value> = rows.iter().filter(|row| row["rule"] == rule).collect();
        let ratio = |row: &&&Value| {
            let least = of_pattern(&row["pattern"], LEAST_FIXED)?;
            let least_bytes = least["in_flight_mean_bytes"].as_f64()?;
            Some(row["in_flight_mean_bytes"].as_f64()? / least_bytes.max(1.0))
        };
        let ratios: Vec<f64> = of_rule.iter().filter_map(|row| ratio(&row)).collect();
        let all = |key: &str| -> Vec<f64> {
            of_rule.iter().filter_map(|row| row[key].as_f64()).collect()
        };
        let most = |values: &[f64]| values.iter().copied().reduce(f64::max);
        json!({
            "rule": rule,
            "of_least_fixed_best": ratios.iter().copied().reduce(f64::min),
            "of_least_fixed_worst": most(&ratios),
            "of_off_worst": all("of_off").into_iter().reduce(f64::min),
            "urgent_delay_p99_us_worst": most(&all("urgent_delay_p99_us")),
        })
    });
    Some(Summary {
        title: "Over all patterns (of_least_fixed: bytes in flight over those of the least fixed \
                limit)",
        rows: summary.collect(),
    })
}
