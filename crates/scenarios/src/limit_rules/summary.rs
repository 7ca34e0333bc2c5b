//! Summary of the rules over all traces.

use crate::prelude::*;
use crate::scenario::by_rule;

/// Returns a row for each rule; `None` for a single trace.
pub(super) fn of(rows: &[Value]) -> Option<Summary> {
    if rows.iter().all(|row| row["pattern"] == rows[0]["pattern"]) {
        return None;
    }
    let of_rule = |(rule, rows): &(&str, Vec<&Value>)| of_one(rule, rows);
    Some(Summary {
        title: "Over all traces (ratio_mean: geometric; _at: the trace of the extreme; missed: \
                traces on which utilisation was below the target, where a small ratio is \
                meaningless)",
        rows: by_rule(rows).iter().map(of_rule).collect(),
    })
}

fn of_one(rule: &str, rows: &[&Value]) -> Value {
    let ratios = rows.iter().filter_map(|row| row["ratio"].as_f64());
    let ratios: Vec<f64> = ratios.filter(|&ratio| ratio > 0.0).collect();
    let logarithms: f64 = ratios.iter().map(|&ratio| libm::log(ratio)).sum();
    let mean = (!ratios.is_empty()).then(|| libm::exp(logarithms / ratios.len() as f64));
    let extreme = |key: &str, sign: f64| {
        let valued = rows
            .iter()
            .filter_map(|row| Some((row[key].as_f64()? * sign, *row)));
        let found = valued.max_by(|a, b| a.0.total_cmp(&b.0));
        found.map(|(value, row)| (value * sign, row["pattern"].clone()))
    };
    let (worst, smallest) = (extreme("ratio", 1.0), extreme("utilisation", -1.0));
    let is_missed = |row: &&&Value| {
        let (found, target) = (row["utilisation"].as_f64(), row["target"].as_f64());
        found
            .zip(target)
            .is_some_and(|(found, target)| found < target)
    };
    let missed = rows.iter().filter(is_missed).count();
    json!({
        "rule": rule,
        "missed": format!("{missed} of {}", rows.len()),
        "ratio_mean": mean,
        "ratio_max": worst.as_ref().map(|it| it.0),
        "ratio_max_at": worst.map(|it| it.1),
        "busy_min_%": smallest.as_ref().map(|it| it.0 * 100.0),
        "busy_min_at": smallest.map(|it| it.1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pattern: &str, rule: &str, ratio: Option<f64>, utilisation: f64) -> Value {
        json!({
            "pattern": pattern,
            "rule": rule,
            "ratio": ratio,
            "utilisation": utilisation,
            "target": 0.999,
        })
    }

    #[test]
    fn each_rule_has_mean_and_worst_traces() {
        let rows = [
            row("a", "dql", Some(2.0), 1.0),
            row("a", "taut", None, 0.5),
            row("b", "dql", Some(8.0), 0.75),
            row("b", "taut", None, 0.5),
        ];
        let rows = of(&rows).expect("two patterns").rows;
        assert_eq!(rows.len(), 2);
        assert!((rows[0]["ratio_mean"].as_f64().expect("a mean") - 4.0).abs() < 1e-9);
        assert_eq!(
            (&rows[0]["ratio_max"], &rows[0]["ratio_max_at"]),
            (&json!(8.0), &json!("b"))
        );
        assert_eq!(
            (&rows[0]["missed"], &rows[1]["missed"]),
            (&json!("1 of 2"), &json!("2 of 2"))
        );
        assert_eq!(rows[0]["busy_min_%"], 75.0);
        assert_eq!(rows[0]["busy_min_at"], "b");
        assert_eq!(rows[1]["ratio_mean"], Value::Null);
    }

    #[test]
    fn one_trace_has_no_summary() {
        assert_eq!(of(&[row("a", "dql", Some(2.0), 1.0)]), None);
    }
}
