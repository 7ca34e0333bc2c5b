//! E12: the published limits come out, and what a rule must reach is known.

use crate::support::{number, row, run_with, show};
use serde_json::Value;

fn ping_us(row: &Value, share: &str) -> f64 {
    row["ping_us"][share].as_f64().expect("a time")
}

#[test]
fn the_published_limits_and_losses_come_out() {
    let found = run_with(
        "software-consumer",
        &[
            ("cores", "[\"shared\"]"),
            ("told", "[\"each\", \"poll\"]"),
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
    let outside = found.figures.iter().filter(|figure| !figure.is_predicted());
    let outside: Vec<&str> = outside.map(|figure| figure.id.as_str()).collect();
    assert_eq!(outside, ["E12, slow, told each, dql, ping"]);
    let of = |consumer: &str, told: &str, limit: &str| {
        let keys = [("consumer", consumer), ("told", told), ("limit", limit)];
        row(&found, &keys).clone()
    };
    // In packets, whatever is counted.
    for limit in ["dql", "dql:packets"] {
        assert_eq!(number(&of("slow", "each", limit), "limit_p50"), 2.0);
        assert_eq!(number(&of("slow", "poll", limit), "limit_p50"), 128.0);
    }
    for (consumer, packets) in [("slow", 8.0), ("fast", 57.0)] {
        for told in ["each", "poll"] {
            let least = of(consumer, told, "fixed:99.9%");
            assert_eq!(number(&least, "limit_p50"), packets);
            assert_eq!(number(&least, "over_least"), 1.0);
            assert!(number(&least, "of_best") >= 0.999);
            let off = of(consumer, told, "off");
            assert!(off["limit_p50"].is_null());
            assert!(ping_us(&off, "p99") > 4.0 * ping_us(&least, "p99"));
        }
    }
}
