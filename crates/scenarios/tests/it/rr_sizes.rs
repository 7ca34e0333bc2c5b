//! E2: the bounds of link and hosts are reached with and without the limit.

use crate::support::{file_with, number, row, run_with, show};
use taut_scenarios::registry;

const STREAMS: f64 = 200.0;

#[test]
fn link_and_hosts_bound_the_rates() {
    let found = run_with(
        "rr-sizes",
        &[
            ("warm_up", "\"400ms\""),
            ("duration", "\"300ms\""),
            ("sizes", "[\"14000\", \"1400\", \"1\"]"),
        ],
    );
    show(&found);
    for size in ["14000", "1400", "1"] {
        let rows =
            ["dql", "off"].map(|limit| row(&found, &[("size_bytes", size), ("limit", limit)]));
        let [on, off] = rows.map(|row| number(row, "rate_tps"));
        assert!(
            (on / off - 1.0).abs() < 0.02,
            "{size}: {on} with the limit, {off} without"
        );
        for row in rows {
            // At most 1448 bytes of payload per 1538 bytes of link time.
            let goodput = number(row, "goodput_bits_per_s");
            assert!(goodput <= 1e9 * 1448.0 / 1538.0 * 1.001, "{row}");
            // Little's law: every stream is in a transaction, or its client thinks (285 us).
            let in_system = number(row, "rate_tps") * (number(row, "latency_p50_us") + 285.0) / 1e6;
            assert!(
                (0.85..1.15).contains(&(in_system / STREAMS)),
                "{row}: {in_system} streams"
            );
        }
        // The bytes in the ring are queued: never fewer without the limit.
        let [on, off] = rows.map(|row| number(row, "in_flight_mean_bytes"));
        assert!(
            on <= 1.02 * off,
            "{size}: {on} with the limit, {off} without"
        );
    }
    // The hosts' time alone bounds the smallest size: 200 streams in 590 us and two propagation
    // delays.
    let smallest = number(
        row(&found, &[("size_bytes", "1"), ("limit", "dql")]),
        "rate_tps",
    );
    assert!(
        (0.9..=1.0).contains(&(smallest * 590e-6 / STREAMS)),
        "{smallest}"
    );
}

#[test]
fn published_rates_are_reproduced() {
    let found = run_with(
        "rr-sizes",
        &[
            ("warm_up", "\"1s\""),
            ("duration", "\"300ms\""),
            ("sizes", "[\"140000\", \"1400\"]"),
        ],
    );
    let rates: Vec<_> = found
        .figures
        .iter()
        .filter(|figure| figure.id.ends_with("rate"))
        .collect();
    assert_eq!((rates.len(), found.figures.len()), (4, 8));
    for figure in rates {
        assert!(figure.is_within_tenth(), "{figure:?}");
    }
}

#[test]
fn invalid_value_error_has_the_key() {
    for (key, value) in [
        ("streams", "0"),
        ("sizes", "[]"),
        ("sizes", "[\"0\"]"),
        ("rate", "\"0\""),
        ("ring", "0"),
        ("coalesce", "\"2s\""),
    ] {
        let text = file_with("rr-sizes", &[(key, value)]);
        let error = registry::check(&text)
            .map(|_| ())
            .expect_err(value)
            .to_string();
        assert!(error.contains(key), "{key} = {value}: {error}");
    }
}
