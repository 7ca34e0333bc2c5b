//! E1 as a scenario file: its table, and what bounds it.
#![cfg(feature = "scenario")]

mod scenario_support;

use scenario_support::{file_with, number, run_with, show};
use taut_sim::scenario::registry;

#[test]
fn the_table_of_a_short_run() {
    let found = run_with(
        "rr-under-load",
        &[
            ("streams", "20"),
            ("warm_up", "\"1500ms\""),
            ("duration", "\"500ms\""),
        ],
    );
    show(&found);
    assert!(found.figures.is_empty(), "not the published experiment");
    // Bytes in the ring (median, nine tenths of the time), transactions/s, Mbit/s.
    let golden = [
        ("limit off, TSO on", [2_269_183.0, 3_459_071.0, 72.0, 933.2]),
        ("limit on, TSO on", [131_007.0, 171_391.0, 744.0, 937.9]),
        ("limit off, TSO off", [452_863.0, 454_399.0, 250.0, 941.3]),
        ("limit on, TSO off", [63_679.0, 63_679.0, 1_000.0, 940.8]),
    ];
    assert_eq!(found.rows.len(), golden.len());
    for (row, (name, expected)) in found.rows.iter().zip(golden) {
        let bytes = &row["inflight_bytes"];
        let values = [
            number(bytes, "p50"),
            number(bytes, "p90"),
            number(row, "rr_tps"),
            number(row, "goodput_bps") / 1e6,
        ];
        for (value, expected) in values.into_iter().zip(expected) {
            // The course of a loss recovery may differ a little and the row still be the same.
            let off = (value / expected - 1.0).abs();
            assert!(off < 0.03, "{name}: {value}, expected {expected}");
        }
        // No more payload than 1448 of each 1538 bytes of link time.
        assert!(values[3] <= 1e3 * 1448.0 / 1538.0 * 1.001, "{name}");
        // 1024 descriptors: at most a segment for each, or 45 for 20 of them.
        let most = if row["tso"] == true {
            3.6e6
        } else {
            1024.0 * 1514.0
        };
        assert!(number(bytes, "max") <= most, "{name}");
        assert_eq!(row["limit_bytes_p50"].is_null(), row["bql"] == false);
    }
    // The law: 2RT, R in counted bytes, to two packets more.
    let limit = number(&found.rows[3], "limit_bytes_p50");
    let law = 2.0 * 250e-6 * 125e6 * 1514.0 / 1538.0;
    assert!(
        (law - 1514.0..law + 2.0 * 1514.0).contains(&limit),
        "{limit}"
    );
}

#[test]
fn what_cannot_be_is_refused_with_key_value_and_range() {
    for (key, value, message) in [
        ("streams", "0", "streams is 0; allowed: 1 to 4000"),
        ("ring", "31", "ring is 31; allowed: 32 to 65536"),
        (
            "rate",
            "\"999kbit\"",
            "rate is 999kbit; allowed: 1mbit to 100gbit",
        ),
        ("cadence", "\"1s\"", "cadence is 1s; allowed: 1us to 100ms"),
        (
            "duration",
            "\"1ms\"",
            "duration is 1ms; allowed: 500ms to 3600s",
        ),
        ("hosts", "\"1us\"", "hosts is 1us; allowed: 20us to 10s"),
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
        ("limit", "\"off\"", "limit is off"),
        ("limit", "\"12q\"", "line 14, column 9"),
        ("qdisc", "\"no-such\"", "qdisc is \"no-such\""),
        ("rows", "\"bql=on,bql=off\"", "position 8"),
        ("rows", "\"\"", "position 1"),
    ] {
        let error = registry::check(&file_with("rr-under-load", &[(key, value)]));
        let error = error.map(|_| ()).expect_err(key).to_string();
        assert!(error.contains(what), "{key} = {value}: {error}");
    }
}
