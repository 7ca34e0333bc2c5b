//! E6: the effect of aperiodic completions on the limit, and of coalescing to a fixed period.

use crate::support::{number, row, run_with, show};
use taut_report::document::Document;

#[test]
fn aperiodic_completions_cost_the_published_bytes() {
    let found = run_with(
        "aperiodic",
        &[("warm_up", "\"2500ms\""), ("duration", "\"400ms\"")],
    );
    show(&found);
    let at = |pattern, rule, key| {
        let row = row(&found, &[("pattern", pattern), ("rule", rule)]);
        number(row, key)
    };
    // R in counted bytes per second: 1514 of each 1538 bytes of link time.
    let bytes_in = |seconds: f64| 125e6 * 1_514.0 / 1_538.0 * seconds;
    let steady = at("steady", "dql", "limit_bytes");
    let law = 2.0 * bytes_in(100e-6)..=2.0 * bytes_in(100e-6) + 3_028.0;
    assert!(law.contains(&steady), "{steady} in {law:?}");
    // The two published results of the open problem.
    let long = at("rare long gaps", "dql", "limit_bytes");
    let law = 2.0 * bytes_in(1e-3)..=2.0 * bytes_in(1e-3) + 2.0 * 3_028.0;
    assert!(law.contains(&long), "{long} in {law:?}");
    // The rule taut has a limit of one interval and one packet.
    let limit = at("steady", "taut", "limit_bytes");
    let law = bytes_in(100e-6) - 1_514.0..=bytes_in(100e-6) + 3_028.0;
    assert!(law.contains(&limit), "{limit} in {law:?}");
    // A fixed limit needs one interval, not two.
    let fixed = at("steady", "optimum", "limit_bytes");
    assert!(fixed <= bytes_in(100e-6) + 1_514.0, "{fixed}");
    assert!(fixed >= 0.99 * bytes_in(100e-6) - 1_514.0, "{fixed}");
    for row in &found.rows {
        let (pattern, rule) = (row["pattern"].as_str(), row["rule"].as_str());
        let throughput_vs_off = number(row, "throughput_vs_off");
        if (pattern, rule) == (Some("small last round"), Some("dql")) {
            // The wire runs dry while a part of the sent packets waits for the next batch.
            // Something is always left in flight, so the rule never detects starvation and
            // decreases too far. An interval carries the bytes in flight, and a few packets that a
            // later batch refilled.
            let per_interval = number(row, "in_flight_mean_bytes") / bytes_in(1e-3);
            assert!(
                (per_interval..per_interval + 0.1).contains(&throughput_vs_off),
                "{row}"
            );
            assert!(throughput_vs_off < 0.9, "{row}");
            continue;
        }
        // No other rule costs throughput, in particular under a light load.
        let smallest = if rule == Some("optimum") {
            0.997
        } else {
            0.9985
        };
        assert!((smallest..=1.0015).contains(&throughput_vs_off), "{row}");
        // The maximum delay is that of a full ring and the longest gap.
        let p99 = number(row, "urgent_delay_p99_us");
        assert!(p99 <= 1_024.0 * 12.304 + 1_000.0, "{row}");
    }
    taut_is_near_the_lowest_fixed_limit(&found);
    // The same load: the limit follows only the timing.
    let timing = ["light load, bursts", "the same, packet by packet"];
    let limits = timing.map(|pattern| at(pattern, "dql", "limit_bytes"));
    assert!(limits[0] > 4.0 * limits[1], "{limits:?}");
    let loads = timing.map(|pattern| at(pattern, "dql", "utilisation"));
    assert!((loads[0] - loads[1]).abs() < 1e-2, "{loads:?}");
}

/// Compares the bytes in flight with those of the smallest sufficient limit and of Linux's rule.
fn taut_is_near_the_lowest_fixed_limit(found: &Document) {
    let rows = found.rows.iter().filter(|row| row["rule"] == "off");
    let patterns: Vec<&str> = rows.filter_map(|row| row["pattern"].as_str()).collect();
    assert_eq!(patterns.len(), 7);
    for pattern in patterns {
        let held = |rule| {
            let row = row(found, &[("pattern", pattern), ("rule", rule)]);
            number(row, "in_flight_mean_bytes")
        };
        let (own, smallest, linux) = (held("taut"), held("optimum"), held("dql"));
        // A packet, which the optimum does not need to spare, or a seventh.
        let max = (1.15 * smallest).max(smallest + 1_514.0);
        assert!(own <= max, "{pattern}: {own} of {smallest}");
        // Linux's rule holds less only where that is insufficient.
        if pattern != "small last round" {
            assert!(own <= 1.001 * linux, "{pattern}: {own} of {linux}");
        }
    }
}
