//! E1 as a scenario file: its table, and its bounds.

use crate::support::{file_with, number, run_with, show};
use serde_json::Value;
use taut_scenarios::registry;

/// The published and the golden results are for whole GSO packets.
const WHOLE: &str = "[\"off\"]";

#[test]
fn the_table_of_a_short_run() {
    let found = run_with(
        "rr-under-load",
        &[
            ("streams", "20"),
            ("warm_up", "\"1500ms\""),
            ("duration", "\"500ms\""),
            ("late_segmentation", WHOLE),
        ],
    );
    show(&found);
    assert!(found.figures.is_empty(), "not the published experiment");
    // Bytes in the ring (median, p90), transactions/s, Mbit/s.
    let golden = [
        ("limit off, TSO on", [2_269_183.0, 3_459_071.0, 72.0, 933.2]),
        ("limit dql, TSO on", [131_007.0, 171_391.0, 744.0, 937.9]),
        ("limit taut, TSO on", [65_791.0, 131_007.0, 1_452.0, 938.5]),
        ("limit off, TSO off", [452_863.0, 454_399.0, 250.0, 941.3]),
        ("limit dql, TSO off", [63_679.0, 63_679.0, 1_000.0, 940.8]),
        ("limit taut, TSO off", [33_311.0, 33_375.0, 1_332.0, 940.5]),
    ];
    assert_eq!(found.rows.len(), golden.len());
    for (row, (name, expected)) in found.rows.iter().zip(golden) {
        let tso = if row["tso"] == true { "on" } else { "off" };
        let limit = row["limit"].as_str().expect("a name");
        assert_eq!(format!("limit {limit}, TSO {tso}"), name);
        assert_eq!(row["bql"], limit != "off", "{name}");
        let bytes = &row["inflight_bytes"];
        let values = [
            number(bytes, "p50"),
            number(bytes, "p90"),
            number(row, "rr_tps"),
            number(row, "goodput_bps") / 1e6,
        ];
        for (value, expected) in values.into_iter().zip(expected) {
            // A loss recovery can differ slightly within the same row.
            let off = (value / expected - 1.0).abs();
            assert!(off < 0.03, "{name}: {value}, expected {expected}");
        }
        // At most 1448 bytes of payload per 1538 bytes of link time.
        assert!(values[3] <= 1e3 * 1448.0 / 1538.0 * 1.001, "{name}");
        // 1024 descriptors: at most a segment for each, or 45 for 20 of them.
        let max = if row["tso"] == true {
            3.6e6
        } else {
            1024.0 * 1514.0
        };
        assert!(number(bytes, "max") <= max, "{name}");
        assert_eq!(row["limit_bytes_p50"].is_null(), row["bql"] == false);
    }
    // The law: 2RT, R in counted bytes, to two packets more.
    let interval = 250e-6 * 125e6 * 1514.0 / 1538.0;
    // The required in-flight is half of it.
    for (row, law) in [(4, 2.0 * interval), (5, interval)] {
        let limit = number(&found.rows[row], "limit_bytes_p50");
        assert!(
            (law - 1514.0..law + 2.0 * 1514.0).contains(&limit),
            "{limit} for {law}"
        );
    }
}

#[test]
fn taut_holds_fewer_bytes_than_dql() {
    let found = run_with(
        "rr-under-load",
        &[("duration", "\"1s\""), ("late_segmentation", WHOLE)],
    );
    show(&found);
    for tso in [true, false] {
        let of = |limit: &str| {
            let mut rows = found.rows.iter();
            let row = rows.find(|row| row["limit"] == limit && row["tso"] == tso);
            row.expect("the row was run")
        };
        let (linux, taut) = (of("dql"), of("taut"));
        let bytes = |row: &Value, quantile| number(&row["inflight_bytes"], quantile);
        for quantile in ["p50", "p90"] {
            let (held, by_linux) = (bytes(taut, quantile), bytes(linux, quantile));
            assert!(held < 0.75 * by_linux, "{quantile}: {held} of {by_linux}");
            // Fewer bytes than the wire sends in one interrupt interval are insufficient.
            let interval = 250e-6 * 125e6 * 1514.0 / 1538.0;
            assert!(held >= interval, "{quantile}: {held}");
        }
        let smallest = 0.995 * number(linux, "goodput_bps");
        assert!(number(taut, "goodput_bps") >= smallest, "{taut} {linux}");
        assert!(
            number(taut, "rr_tps") > 1.2 * number(linux, "rr_tps"),
            "{taut} {linux}"
        );
    }
    // The published results are of Linux's rule and of no limit.
    assert_eq!(found.figures.len(), 8);
    let of_linux = |row: &&Value| row["limit"] != "taut";
    let rates = found.rows.iter().filter(of_linux);
    let rates: Vec<f64> = rates.map(|row| number(row, "rr_tps")).collect();
    let figures = found.figures.iter().filter(|it| it.id.ends_with("rr_tps"));
    assert_eq!(figures.map(|it| it.value).collect::<Vec<_>>(), rates);
}

#[test]
fn invalid_value_error_has_key_and_range() {
    for (key, value, message) in [
        ("streams", "0", "streams is 0; allowed: 1 to 4000"),
        ("ring", "31", "ring is 31; allowed: 32 to 65536"),
        (
            "rate",
            "\"999kbit\"",
            "rate is 999kbit; allowed: 1mbit to 100gbit",
        ),
        (
            "coalesce",
            "\"1s\"",
            "coalesce is 1s; allowed: 1us to 100ms",
        ),
        (
            "duration",
            "\"1ms\"",
            "duration is 1ms; allowed: 500ms to 3600s",
        ),
        (
            "host_latency",
            "\"1us\"",
            "host_latency is 1us; allowed: 20us to 10s",
        ),
        (
            "warm_up",
            "\"3601s\"",
            "warm_up is 3601s; allowed: 0ns to 3600s",
        ),
    ] {
        let error = registry::check(&file_with("rr-under-load", &[(key, value)]));
        assert_eq!(error.map(|_| ()).expect_err(key).to_string(), message);
    }
    for (key, value, what) in [
        (
            "limits",
            "[\"taut\", \"taut\"]",
            "taut twice, again at position 2",
        ),
        ("limits", "[\"dql\", \"12q\"]", "number 2"),
        ("limits", "\"dql\"", "line 15, column 10"),
        ("qdisc", "\"no-such\"", "qdisc is \"no-such\""),
        ("rows", "\"limit=on,limit=off\"", "position 10"),
        ("rows", "\"\"", "position 1"),
    ] {
        let error = registry::check(&file_with("rr-under-load", &[(key, value)]));
        let error = error.map(|_| ()).expect_err(key).to_string();
        assert!(error.contains(what), "{key} = {value}: {error}");
    }
}
