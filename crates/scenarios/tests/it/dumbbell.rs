//! Pairs of hosts that share a trunk.

use crate::support::{number, refusal, row, run_with, show};

#[test]
fn a_short_queue_answers_soon_a_fair_one_shares_and_a_limit_spoils_neither() {
    let found = run_with(
        "dumbbell",
        &[
            ("pairs", "4"),
            ("limits", "[\"off\", \"dql\"]"),
            ("warm_up", "\"2s\""),
            ("duration", "\"4s\""),
        ],
    );
    show(&found);
    let of = |qdisc: &str, limit: &str, what: &str| {
        number(row(&found, &[("qdisc", qdisc), ("limit", limit)]), what)
    };
    let long = "pfifo limit 1000";
    for qdisc in [long, "codel", "fq_codel"] {
        let goodput = of(qdisc, "dql", "goodput_bps");
        assert!(goodput > 88e6, "{qdisc}: {goodput}");
        assert!(goodput > 0.97 * of(qdisc, "off", "goodput_bps"), "{qdisc}");
    }
    let request = |qdisc: &str, limit: &str| of(qdisc, limit, "request_p50_us");
    assert!(request(long, "dql") > 2.0 * request("codel", "dql"));
    // What is in the ring is overtaken by nobody, and 256 frames of it are 31 ms.
    assert!(request("fq_codel", "dql") < 0.5 * request("fq_codel", "off"));
    assert!(of("fq_codel", "dql", "fairness") > of(long, "dql", "fairness"));
    assert!(of("fq_codel", "dql", "fairness") > 0.9);
    assert!(of(long, "off", "in_flight_p50_bytes") > 100.0 * 1_514.0);
    assert!(of(long, "dql", "in_flight_p50_bytes") < 10.0 * 1_514.0);
}

#[test]
fn with_marks_the_trunk_drops_next_to_nothing() {
    let settings = |ecn: &'static str| {
        [
            ("pairs", "4"),
            ("qdiscs", "[\"fq_codel\"]"),
            ("limits", "[\"dql\"]"),
            ("ecn", ecn),
            ("warm_up", "\"3s\""),
            ("duration", "\"1s\""),
        ]
    };
    let [with, without] = ["true", "false"].map(|ecn| run_with("dumbbell", &settings(ecn)));
    let of = |found, what| number(row(found, &[("qdisc", "fq_codel")]), what);
    assert!(of(&with, "marks") > 50.0);
    assert_eq!(of(&without, "marks"), 0.0);
    assert!(of(&with, "drops") < 0.2 * of(&without, "drops"));
}

#[test]
fn what_cannot_be_is_refused_with_key_value_and_range() {
    for (key, value, says) in [
        ("pairs", "32", "pairs is 32; allowed: 1 to 31"),
        (
            "round_trips",
            "[]",
            "round_trips, their number is 0; allowed: 1 to 31",
        ),
        (
            "round_trips",
            "[\"1us\"]",
            "round_trips is 1us; allowed: 40us to 2s",
        ),
        ("qdiscs", "[\"red\"]", "qdiscs has \"red\": "),
        (
            "host_rate",
            "\"1mbit\"",
            "host_rate is 1mbit; allowed: 100mbit to 100gbit",
        ),
        ("limits", "[]", "limits, their number is 0; allowed: 1 to"),
    ] {
        let error = refusal("dumbbell", key, value);
        assert!(error.starts_with(says), "{error}");
    }
}
