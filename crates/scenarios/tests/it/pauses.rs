//! The effect of one pause on a limit.

use serde_json::Value;

use crate::support::{number, run_with, show};
use taut_report::document::Document;

/// Few rings and rates, and every kind of pause, for one rule.
fn run_short(rule: &str) -> Document {
    let rule = format!("[\"{rule}\"]");
    let found = run_with(
        "pauses",
        &[
            ("rules", &rule),
            ("rings", "[64, 1024]"),
            ("rates", "[\"50mbit\", \"1gbit\"]"),
            ("pauses", "[\"1ms\", \"100ms\"]"),
        ],
    );
    show(&found);
    found
}

fn summary(found: &Document) -> &Value {
    &found.summary.as_ref().expect("a summary").rows[0]
}

fn single(found: &Document) -> impl Iterator<Item = &Value> {
    found.rows.iter().filter(|row| row["every_ms"].is_null())
}

#[test]
fn dql_returns_to_its_limit_within_10_s() {
    let found = run_short("dql");
    let summary = summary(&found);
    assert_eq!(summary["cases"], 16);
    // Linux's rule raises its limit, and decreases it after its hold time.
    assert!(number(summary, "above_1.25x_0.1s") > 0.0, "{summary}");
    assert_eq!(summary["above_1.25x_10s"], 0, "{summary}");
}

#[test]
fn pauses_do_not_change_a_fixed_limit() {
    let found = run_short("1m");
    for row in single(&found) {
        for key in ["ratio_0.1s", "ratio_1s", "ratio_10s"] {
            assert_eq!(row[key], 1.0, "{row}");
        }
        assert!(number(row, "busy") > 0.98, "{row}");
    }
}

#[test]
fn same_seed_gives_the_same_rows() {
    let run = || {
        run_with(
            "pauses",
            &[
                ("rings", "[64]"),
                ("rates", "[\"1gbit\"]"),
                ("pauses", "[\"10ms\"]"),
                ("periodic_pauses", "[\"2ms\"]"),
                ("periodic_every", "[\"100ms\"]"),
                ("after", "\"1s\""),
            ],
        )
    };
    let (one, other) = (run(), run());
    assert_eq!(one.rows, other.rows);
    assert_eq!(one.rows.len(), 6);
}

#[test]
fn taut_does_not_raise_its_limit_after_a_pause() {
    let found = run_with("pauses", &[("rules", "[\"taut\"]")]);
    show(&found);
    for row in single(&found) {
        assert!(number(row, "ratio_0.1s") <= 1.25, "{row}");
        assert!(number(row, "mean_ratio") <= 1.35, "{row}");
        assert!(number(row, "limit_peak_of_ring") <= 1.0, "{row}");
        assert!(number(row, "ring_stops_added") <= 1.0, "{row}");
    }
}
