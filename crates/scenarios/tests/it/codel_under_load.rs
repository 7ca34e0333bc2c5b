//! E7: with the limit, CoDel and FQ-CoDel control the backlog. Marks cause no losses; drops are
//! sent again.

use crate::support::{file_with, number, row, run_with, show};
use serde_json::Value;
use taut_scenarios::registry;

const RATE: f64 = 500e6;

/// Runs E7 on a slower link with fewer streams, for a short test.
fn found(discipline: &str) -> taut_report::document::Document {
    let found = run_with(
        "codel-under-load",
        &[
            ("disciplines", &format!("[\"{discipline}\"]")),
            ("kernels", "[\"correct\"]"),
            ("host_latency", "\"550us\""),
            ("budget", "\"0\""),
            ("rate", "\"500mbit\""),
            ("streams", "16"),
            ("ring", "512"),
            ("coalesce", "\"250us\""),
            ("gso_packet", "\"14480\""),
            // By then, all losses of slow start have been sent again.
            ("warm_up", "\"4s\""),
            ("duration", "\"1s\""),
        ],
    );
    show(&found);
    found
}

/// Checks the bounds of every row, for any discipline.
fn assert_bounds(row: &Value) {
    // 1448 of the 1538 bytes of link time of a full segment are payload.
    let max = RATE * 1_448.0 / 1_538.0;
    let goodput = number(row, "goodput_bits_per_s");
    assert!((0.98 * max..=1.001 * max).contains(&goodput), "{row}");
    // A request takes at least the time of the bytes in the ring, and the hosts' time.
    let min_s = 550e-6 + number(row, "in_flight_p10_bytes") * 8.0 / RATE;
    let alone = number(row, "rate_tps") * 550e-6;
    assert!(alone <= 1.0, "{row}");
    if row["discipline"] == "codel" {
        // One more can be in progress at either end of the measured second.
        assert!(number(row, "rate_tps") <= 1.02 / min_s + 2.0, "{row}");
    }
    let [drops, marks, again] =
        ["dropped_packets", "marked_packets", "retransmissions"].map(|key| number(row, key));
    if row["signal"] == "marks" {
        assert!(marks > 0.0, "{row}");
        assert_eq!((drops, again), (0.0, 0.0), "{row}");
    } else {
        assert_eq!(marks, 0.0, "{row}");
        // A GSO packet of up to ten segments is sent again segment by segment. Some drops of the
        // second are repaired after it, and some earlier ones in it.
        assert!(drops > 0.0 && again > 0.9 * drops, "{row}");
        assert!(again <= 12.0 * (drops + 16.0), "{row}");
    }
}

#[test]
fn limit_moves_the_backlog_to_codel() {
    let found = found("codel");
    let of = |limit, signal| row(&found, &[("limit", limit), ("signal", signal)]);
    for row in &found.rows {
        assert_bounds(row);
    }
    for signal in ["drops", "marks"] {
        let [off, on] = ["off", "dql"].map(|limit| of(limit, signal));
        // 2RT, and two objects more.
        let law = 2.0 * 250e-6 * RATE / 8.0 + 2.0 * 14_546.0;
        assert!(number(on, "in_flight_mean_bytes") <= law, "{on}");
        assert!(number(off, "in_flight_mean_bytes") > 10.0 * law, "{off}");
        assert!(number(on, "rate_tps") > number(off, "rate_tps"), "{on}");
        // The published order also applies to the backlog.
        let waiting = |row| number(row, "waiting_mean_packets");
        assert!(waiting(on) > waiting(off), "{on}");
    }
    // The reaction to a mark never waits for a timer.
    assert!(number(of("dql", "marks"), "latency_max_us") < 200e3);
}

#[test]
fn sparse_fq_codel_flow_waits_for_ring_only() {
    let found = found("fq_codel");
    let of = |limit, signal| row(&found, &[("limit", limit), ("signal", signal)]);
    for row in &found.rows {
        assert_bounds(row);
    }
    for signal in ["drops", "marks"] {
        // The other half of the hosts' time is think time before the next request.
        let row = of("dql", signal);
        let ring_us = number(row, "in_flight_mean_bytes") * 8e6 / RATE;
        assert!(
            number(row, "latency_p50_us") < 275.0 + 2.0 * ring_us,
            "{row}"
        );
        assert!(
            number(row, "rate_tps") > 5.0 * number(of("off", signal), "rate_tps"),
            "{row}"
        );
    }
}

#[test]
fn latency_distributions_end_at_one() {
    let found = found("codel");
    assert_eq!(found.series.len(), 4);
    assert_eq!(found.figures.len(), 8, "two of each row");
    for series in &found.series {
        let rises = |two: &[(u64, f64)]| two[0].0 <= two[1].0 && two[0].1 < two[1].1;
        assert!(series.points.windows(2).all(rises), "{}", series.row);
        assert_eq!(series.points.last().map(|point| point.1), Some(1.0));
    }
}

/// Runs both kernels with small queues, on a tenth of the link rate.
fn kernels(seed: u64) -> taut_report::document::Document {
    let text = file_with(
        "codel-under-load",
        &[
            ("disciplines", "[\"codel\"]"),
            ("rate", "\"1gbit\""),
            ("streams", "16"),
            ("ring", "512"),
            ("warm_up", "\"2s\""),
            ("duration", "\"1s\""),
        ],
    );
    let found =
        taut_scenarios::sweep::run(&text, Some(seed), 1, &mut |_, _, _| {}).expect("it runs");
    show(&found);
    found
}

#[test]
fn small_queues_without_limit_hide_the_backlog() {
    let found = kernels(1);
    let of = |signal| {
        let keys = [("kernel", "correct"), ("limit", "off"), ("signal", signal)];
        row(&found, &keys)
    };
    let (drops, marks) = (of("drops"), of("marks"));
    assert_eq!(number(drops, "dropped_packets"), 0.0, "{drops}");
    assert_eq!(number(marks, "marked_packets"), 0.0, "{marks}");
    assert_eq!(drops["rate_tps"], marks["rate_tps"]);
}

#[test]
fn kernel_of_2012_empties_queue_at_mark() {
    let found = kernels(1);
    let of = |kernel| {
        let keys = [("kernel", kernel), ("limit", "dql"), ("signal", "marks")];
        row(&found, &keys)
    };
    let (correct, of_2012) = (of("correct"), of("2012"));
    assert!(
        number(of_2012, "rate_tps") > 2.0 * number(correct, "rate_tps"),
        "{of_2012}"
    );
    // Half of the requests find an empty queue.
    assert!(number(of_2012, "latency_p50_us") < 200.0, "{of_2012}");
    assert!(number(correct, "latency_p50_us") > 4_000.0, "{correct}");
    assert!(
        number(correct, "goodput_bits_per_s") > 1.02 * number(of_2012, "goodput_bits_per_s"),
        "{of_2012}"
    );
}

#[test]
fn seeds_differ_and_are_reproducible() {
    let rows = |seed| kernels(seed).rows;
    assert_eq!(rows(1), rows(1));
    assert_ne!(rows(1), rows(2));
}

#[test]
fn invalid_value_error_has_the_key() {
    for (key, value) in [
        ("kernels", "[]"),
        ("growth_segments", "0"),
        ("streams", "0"),
        ("disciplines", "[]"),
        ("disciplines", "[\"codel ecn\", \"red\"]"),
        ("disciplines", "[\"pfifo\"]"),
        ("rate", "\"0\""),
        ("ring", "31"),
        ("gso_packet", "\"0\""),
        ("coalesce", "\"2s\""),
    ] {
        let text = file_with("codel-under-load", &[(key, value)]);
        let error = registry::check(&text)
            .map(drop)
            .expect_err(value)
            .to_string();
        assert!(error.contains(key), "{key} = {value}: {error}");
    }
}
