//! E12: the published limits are reproduced, and the targets of a rule are known.

use crate::support::{number, row, run_with, show};
use serde_json::Value;

fn ping_us(row: &Value, share: &str) -> f64 {
    row["ping_us"][share].as_f64().expect("a time")
}

#[test]
fn published_limits_and_losses_are_reproduced() {
    let found = run_with(
        "software-consumer",
        &[
            ("cores", "[\"shared\"]"),
            ("notify", "[\"packet\", \"poll\"]"),
            (
                "limits",
                "[\"fixed:99.9%\", \"off\", \"dql\", \"dql:packets\"]",
            ),
            ("warm_up", "\"3s\""),
            ("duration", "\"1s\""),
        ],
    );
    show(&found);
    assert_eq!(found.rows.len(), 16);
    assert_eq!(found.figures.len(), 6);
    let outside = found
        .figures
        .iter()
        .filter(|figure| !figure.is_within_tenth());
    let outside: Vec<&str> = outside.map(|figure| figure.id.as_str()).collect();
    assert_eq!(outside, ["E12, slow, notify packet, dql, ping"]);
    let of = |consumer: &str, notify: &str, limit: &str| {
        let keys = [("consumer", consumer), ("notify", notify), ("limit", limit)];
        row(&found, &keys).clone()
    };
    // In packets, for any unit of the limit.
    for limit in ["dql", "dql:packets"] {
        assert_eq!(number(&of("slow", "packet", limit), "limit_p50"), 2.0);
        assert_eq!(number(&of("slow", "poll", limit), "limit_p50"), 128.0);
    }
    for (consumer, packets) in [("slow", 8.0), ("fast", 57.0)] {
        for notify in ["packet", "poll"] {
            let smallest = of(consumer, notify, "fixed:99.9%");
            assert_eq!(number(&smallest, "limit_p50"), packets);
            assert_eq!(number(&smallest, "inflight_vs_optimum"), 1.0);
            assert!(number(&smallest, "throughput_vs_best") >= 0.999);
            let off = of(consumer, notify, "off");
            assert!(off["limit_p50"].is_null());
            assert!(ping_us(&off, "p99") > 4.0 * ping_us(&smallest, "p99"));
        }
    }
}

/// 99.5 % of the packets of the best fixed limit, and at most twice the delay of the smallest fixed
/// limit that sends 99.9 %. This applies to limits in bytes and in packets, for every kind of
/// notification.
fn taut_is_near_the_lowest_fixed_limit(consumer: &str, warm_up: &str, duration: &str) {
    let found = run_with(
        "software-consumer",
        &[
            ("consumers", &format!("[\"{consumer}\"]")),
            ("limits", "[\"taut\", \"taut:packets\"]"),
            ("warm_up", warm_up),
            ("duration", duration),
        ],
    );
    show(&found);
    assert_eq!(found.rows.len(), 12);
    for row in &found.rows {
        assert!(number(row, "throughput_vs_best") >= 0.995, "{row}");
        assert!(number(row, "ping_vs_optimum") <= 2.0, "{row}");
        if consumer == "slow" && row["core"] == "shared" {
            assert!(number(&row["ping_us"], "p99") <= 1_600.0, "{row}");
        }
    }
}

#[test]
fn slow_consumer_gets_a_near_optimal_limit() {
    taut_is_near_the_lowest_fixed_limit("slow", "\"10s\"", "\"60s\"");
}

#[test]
fn fast_consumer_gets_a_near_optimal_limit() {
    taut_is_near_the_lowest_fixed_limit("fast", "\"1s\"", "\"1s\"");
}
