//! The effect of one pause on a limit.

use serde_json::Value;

use crate::support::{file_with, number, run_with, show};
use taut_report::document::Document;
use taut_scenarios::sweep;

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

/// A fixed limit or none on a ring of 64 at 1 Gbit/s, with one pause of `paused`.
fn run_pause(rule: &str, paused: &str, pause: &str, after: &str) -> Value {
    let rule = format!("[\"{rule}\"]");
    let (paused, pause) = (format!("[\"{paused}\"]"), format!("[\"{pause}\"]"));
    let after = format!("\"{after}\"");
    let mut found = run_with(
        "pauses",
        &[
            ("rules", &rule),
            ("rings", "[64]"),
            ("rates", "[\"1gbit\"]"),
            ("pauses", &pause),
            ("paused", &paused),
            ("periodic_pauses", "[]"),
            ("periodic_every", "[]"),
            ("warm_up", "\"100ms\""),
            ("after", &after),
        ],
    );
    assert_eq!(found.rows.len(), 1);
    found.rows.remove(0)
}

#[test]
fn pause_of_a_ns_leaves_the_link_busy() {
    let row = run_pause("40000", "thread", "1ns", "100ms");
    assert_eq!(row["busy"], 1.0);
    assert!(
        (0.999..1.001).contains(&number(&row, "mean_ratio")),
        "{row}"
    );
    assert_eq!(
        (&row["limit_before"], &row["ratio_0.1s"]),
        (&40_000.into(), &1.0.into())
    );
    assert_eq!(row["ratio_1s"], Value::Null, "after the end");
    assert_eq!(
        number(&row, "limit_peak_of_ring"),
        40_000.0 / (64.0 * 1_514.0)
    );
}

#[test]
fn paused_thread_leaves_the_link_idle_when_the_ring_is_empty() {
    let row = run_pause("40000", "thread", "10ms", "90ms");
    // 40 KB are 0.32 ms; the link is idle for the rest of 10 of the 100 ms.
    let idle = 1.0 - number(&row, "busy");
    assert!((0.0965..0.0990).contains(&idle), "{row}");
    // The packets remain in flight, because no completion is reported.
    assert!((0.9..1.1).contains(&number(&row, "mean_ratio")), "{row}");
}

#[test]
fn paused_sender_has_nothing_in_flight() {
    let row = run_pause("40000", "sender", "50ms", "50ms");
    assert!((0.49..0.52).contains(&number(&row, "mean_ratio")), "{row}");
    assert!((0.49..0.52).contains(&number(&row, "busy")), "{row}");
}

#[test]
fn full_ring_stops_a_queue_without_limit() {
    let row = run_pause("off", "thread", "1ms", "100ms");
    assert!(number(&row, "ring_stops") > 100.0, "{row}");
    assert_eq!(
        (&row["limit_before"], &row["ratio_0.1s"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn run_with_too_many_interrupts_is_rejected() {
    let replaced = [("interval", "\"1us\""), ("after", "\"3600s\"")];
    let text = file_with("pauses", &replaced);
    let error = sweep::run(&text, None, 1, &mut |_, _, _| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "interval makes 3603500000 interrupts until the end; allowed: at most 33554432"
    );
}
