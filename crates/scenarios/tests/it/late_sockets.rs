//! An application that returns late: throughput is lost only where the socket buffers are too
//! small.

use crate::support::{file_with, number, run_with, show};
use taut_scenarios::registry;

/// The payload of a full 10 Gbit/s, in bytes per second.
const LINE: f64 = 1.25e9 * 1_448.0 / 1_538.0;

#[test]
fn throughput_is_limited_by_link_or_buffers() {
    let found = run_with(
        "late-sockets",
        &[
            ("sockets", "[1, 100, 1000]"),
            ("periods", "[\"5ms\", \"20ms\"]"),
            ("warm_up", "\"60ms\""),
            ("duration", "\"60ms\""),
        ],
    );
    show(&found);
    assert_eq!(found.rows.len(), 3 * 2 * 4);
    for row in &found.rows {
        let buffers = number(row, "sockets") * number(row, "buffer_bytes");
        let period_s = number(row, "period_us") / 1e6;
        let by_buffers = buffers / period_s / LINE;
        let share = number(row, "link_share");
        assert!(share <= by_buffers.min(1.0) * 1.01, "{row}: {by_buffers}");
        // Buffers for two periods lose nothing, with and without a budget.
        if by_buffers > 1.9 {
            assert!(share > 0.98, "{row}");
        }
        // Half a period gives half the throughput. Up to two segments wait for a delayed
        // acknowledgement when the application returns, and are not refilled.
        if by_buffers < 0.6 {
            let refilled = 1.0 - 2.0 * 1_448.0 / number(row, "buffer_bytes");
            assert!(share > 0.98 * refilled * by_buffers, "{row}: {by_buffers}");
        }
        assert_eq!(number(row, "drops"), 0.0, "{row}");
    }
    let throttled = |row: &&serde_json::Value| number(row, "throttled") > 0.0;
    assert!(
        found.rows.iter().filter(throttled).count() >= 6,
        "budgets were at work"
    );
}

#[test]
fn too_short_periods_are_skipped() {
    let found = run_with(
        "late-sockets",
        &[
            ("sockets", "[20, 5]"),
            ("visit", "\"100us\""),
            ("periods", "[\"1ms\", \"2ms\"]"),
            ("buffer_percents", "[200]"),
            ("warm_up", "\"10ms\""),
            ("duration", "\"10ms\""),
        ],
    );
    let ran: Vec<_> = found
        .rows
        .iter()
        .map(|row| (number(row, "sockets"), number(row, "period_us")))
        .collect();
    let twice = |sockets, period| [(sockets, period); 2];
    let expected = [
        twice(20.0, 2_000.0),
        twice(5.0, 1_000.0),
        twice(5.0, 2_000.0),
    ];
    assert_eq!(ran, expected.concat());
    let left = found.rows.iter().map(|row| number(row, "left_to_owner"));
    assert!(
        left.sum::<f64>() > 0.0,
        "sockets that are held finish later"
    );
}

#[test]
fn invalid_value_error_has_the_key() {
    for (key, value) in [
        ("sockets", "[0]"),
        ("periods", "[\"1ns\"]"),
        ("buffer_percents", "[0]"),
        ("budgets", "[\"lots\"]"),
        ("rates", "[\"0\"]"),
        ("backlog_packets", "0"),
        ("coalesce", "\"2s\""),
    ] {
        let text = file_with("late-sockets", &[(key, value)]);
        let error = registry::check(&text)
            .map(|_| ())
            .expect_err(value)
            .to_string();
        assert!(error.contains(key), "{key} = {value}: {error}");
    }
}
