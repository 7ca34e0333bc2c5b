//! Summary of the cases, with a row for each rule.

use serde_json::{Map, Value, json};

use crate::scenario::by_rule;
use taut_report::document::Summary;

/// A limit above this multiple of the limit before the pause counts as raised.
const RAISED: f64 = 1.25;

/// The limit after the pause over the limit before it.
const RATIOS: [&str; 3] = ["ratio_0.1s", "ratio_1s", "ratio_10s"];

/// Returns a row for each rule, in the order of the rows.
pub(super) fn of(rows: &[Value]) -> Option<Summary> {
    let periodic = periodic(rows);
    let of_rule = |(rule, rows): &(&str, Vec<&Value>)| of_one(rule, rows, &periodic);
    (!rows.is_empty()).then(|| Summary {
        title: "Each rule over its cases of one pause (above_1.25x: cases in which the limit was \
                raised to more than that; above_ring: cases in which it exceeded what the ring \
                holds); busy and ratio: busy share of the link and the largest ratio with periodic \
                pauses",
        rows: by_rule(rows).iter().map(of_rule).collect(),
    })
}

/// Returns length and period of the pauses, in ms, of each periodic case.
fn periodic(rows: &[Value]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for row in rows {
        let pair = row["pause_ms"].as_f64().zip(row["every_ms"].as_f64());
        found.extend(pair.filter(|pair| !found.contains(pair)));
    }
    found
}

fn of_one(rule: &str, rows: &[&Value], periodic: &[(f64, f64)]) -> Value {
    let single = || rows.iter().filter(|row| row["every_ms"].is_null());
    let values = |key: &'static str| single().filter_map(move |row| row[key].as_f64());
    let above = |key, bound: f64| values(key).filter(|&it| it > bound).count();
    let worst = |key| values(key).max_by(f64::total_cmp);
    let mut row = Map::new();
    let mut put = |key: String, value: Value| row.insert(key, value);
    put("rule".into(), json!(rule));
    put("cases".into(), json!(single().count()));
    for key in RATIOS {
        let after = key.trim_start_matches("ratio_");
        put(format!("above_1.25x_{after}"), json!(above(key, RAISED)));
        put(format!("worst_{after}"), json!(worst(key)));
    }
    put("worst_mean_ratio".into(), json!(worst("mean_ratio")));
    put("above_ring".into(), json!(above("limit_peak_of_ring", 1.0)));
    let stops = single().filter_map(|row| row["ring_stops_added"].as_i64());
    put("most_ring_stops_added".into(), json!(stops.max()));
    for &(pause_ms, every_ms) in periodic {
        let is_it = |row: &&&Value| row["pause_ms"] == pause_ms && row["every_ms"] == every_ms;
        let busy = rows.iter().find(is_it).map(|row| row["busy"].clone());
        put(format!("busy_{pause_ms}_of_{every_ms}_ms"), json!(busy));
        let ratios = rows.iter().find(is_it).into_iter();
        let ratios = ratios.flat_map(|row| RATIOS.iter().filter_map(|key| row[*key].as_f64()));
        let raised = ratios.max_by(f64::total_cmp);
        put(format!("ratio_{pause_ms}_of_{every_ms}_ms"), json!(raised));
    }
    Value::Object(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rule: &str, every_ms: Option<f64>, ratio: f64, busy: f64) -> Value {
        json!({
            "rule": rule,
            "pause_ms": 2.0,
            "every_ms": every_ms,
            "ratio_0.1s": ratio,
            "ratio_1s": ratio,
            "ratio_10s": null,
            "mean_ratio": 1.0,
            "limit_peak_of_ring": ratio,
            "ring_stops_added": 3,
            "busy": busy,
        })
    }

    #[test]
    fn periodic_pauses_are_counted_separately() {
        let rows = [
            row("dql", None, 1.3, 0.5),
            row("dql", None, 1.25, 0.5),
            row("dql", Some(100.0), 9.0, 0.75),
            row("taut", None, 0.5, 1.0),
        ];
        let rows = of(&rows).expect("rules").rows;
        let (dql, taut) = (&rows[0], &rows[1]);
        assert_eq!((&dql["cases"], &taut["cases"]), (&json!(2), &json!(1)));
        assert_eq!(
            (&dql["above_1.25x_0.1s"], &dql["worst_1s"]),
            (&json!(1), &json!(1.3))
        );
        assert_eq!(
            (&dql["above_ring"], &taut["above_ring"]),
            (&json!(2), &json!(0))
        );
        assert_eq!(
            (&dql["above_1.25x_10s"], &dql["worst_10s"]),
            (&json!(0), &Value::Null)
        );
        assert_eq!(dql["most_ring_stops_added"], 3);
        assert_eq!(dql["busy_2_of_100_ms"], 0.75);
        assert_eq!(dql["ratio_2_of_100_ms"], 9.0);
        assert_eq!(taut["busy_2_of_100_ms"], Value::Null);
    }
}
