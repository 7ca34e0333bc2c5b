//! E3: a budget bounds the bytes below the socket by its closed form, and costs no throughput while
//! they last for an interrupt interval.

use crate::support::{file_with, number, row, run_with, show};
use serde_json::Value;
use taut_report::document::Document;
use taut_scenarios::registry;

const SHORT: [(&str, &str); 4] = [
    ("warm_up", "\"300ms\""),
    ("duration", "\"200ms\""),
    ("knee_warm_up", "\"10ms\""),
    ("knee_duration", "\"10ms\""),
];

fn short(more: &[(&str, &str)]) -> Document {
    let found = run_with("small-queues", &[&SHORT, more].concat());
    show(&found);
    found
}

fn of_part<'a>(found: &'a Document, part: &'a str) -> impl Iterator<Item = &'a Value> {
    found.rows.iter().filter(move |row| row["part"] == part)
}

/// Returns the memory of a packet with this payload. The published 2,304 bytes of a full segment
/// are the base; pages, headers and descriptor are added for a larger packet.
fn memory(payload: u64) -> u64 {
    if payload <= 1_448 {
        2_304
    } else {
        payload.div_ceil(4_096) * 4_096 + 512 + 256
    }
}

/// Returns the largest payload of a packet under a budget, and the number of packets below the
/// socket at once. A packet is sent while at most the budget is charged, or while there is at most
/// one.
fn closed_form(budget: u64, tso: bool) -> (u64, u64) {
    let payload = if tso {
        (45 * 1_448).min(budget / 2).max(1_448) / 1_448 * 1_448
    } else {
        1_448
    };
    (payload, (budget / memory(payload) + 1).max(2))
}

fn budget_bytes(row: &Value) -> Option<u64> {
    let text = row["budget"].as_str().expect("it is text");
    match text.strip_suffix('k') {
        Some(kib) => kib.parse::<u64>().ok().map(|kib| kib << 10),
        None => text.parse().ok(),
    }
}

/// Returns the link time of a packet, in bytes: 66 bytes of headers and 24 of framing per segment.
fn time_bytes(payload: u64) -> u64 {
    payload.div_ceil(1_448) * (66 + 24) + payload
}

#[test]
fn budget_bounds_the_bytes_below_the_socket() {
    let found = short(&[("knee_rates", "[]")]);
    let budgets = of_part(&found, "stream").filter_map(|row| Some((row, budget_bytes(row)?)));
    let mut rows = 0;
    for (row, budget) in budgets {
        rows += 1;
        let tso = row["tso"] == true;
        let (payload, packets) = closed_form(budget, tso);
        // Two requests can be below it as well: one waits for the wire, one for the reap.
        let backlog = packets * (66 + payload) + 2 * 67;
        let max = number(row, "backlog_max_bytes");
        assert!(max <= 1.001 * backlog as f64, "{row}: {backlog}");
        assert!(max >= 0.97 * (packets * payload) as f64, "{row}: {backlog}");
        let time_us = (packets * time_bytes(payload)) as f64 * 8e6 / number(row, "rate_bits_per_s");
        let seen_us = number(row, "backlog_max_us");
        assert!(seen_us <= 1.01 * time_us + 3.0, "{row}: {time_us} us");
        assert!(number(row, "charged_max_bytes") <= (packets * memory(payload)) as f64);
        assert!(
            number(row, "packet_mean_bytes") <= (payload + 66) as f64,
            "{row}"
        );
        // Everything is sent between two interrupts, or the link is full: 64 bytes of a request and
        // its acknowledgements each take at least 84.
        let per_interval = (packets * time_bytes(payload)) as f64
            / (number(row, "rate_bits_per_s") / 8e6 * number(row, "coalesce_us"));
        let share = number(row, "link_share");
        assert!(
            share <= per_interval.min(1.0) * 1.001,
            "{row}: {per_interval}"
        );
        assert!(
            share >= 0.95 * per_interval.min(1.0),
            "{row}: {per_interval}"
        );
        assert_eq!(number(row, "drops"), 0.0, "{row}");
        let notified = number(row, "throttled") - number(row, "deferred");
        assert!((0.0..=1.0).contains(&notified), "{row}");
    }
    assert_eq!(rows, 12, "two rates, with TSO and without, three sizes");
}

#[test]
fn limit_of_2012_has_the_published_backlog() {
    let found = short(&[("knee_rates", "[]")]);
    assert_eq!(found.figures.len(), 5, "without those of the knee");
    for (rate, tso_off_ms) in [(1e9, 0.70), (1e8, 7.0)] {
        let row = |budget, tso: bool| {
            let is_it = |row: &&Value| {
                number(row, "rate_bits_per_s") == rate
                    && row["budget"] == budget
                    && row["tso"] == tso
            };
            let row = of_part(&found, "stream").find(is_it);
            row.unwrap_or_else(|| panic!("no row {rate} {budget} {tso}"))
        };
        // 57 packets of 1538 bytes.
        let ms = number(row("128k", false), "backlog_max_us") / 1e3;
        assert!((0.98..1.02).contains(&(ms / tso_off_ms)), "{ms}");
        for tso in [true, false] {
            let [held, free] = ["128k", "none"].map(|budget| row(budget, tso));
            for column in [
                "round_trip_mean_us",
                "window_mean_bytes",
                "backlog_mean_bytes",
            ] {
                let (held, free) = (number(held, column), number(free, column));
                // Without a budget, the window still grows at the end of such a short run.
                assert!(free > 2.0 * held, "{column}: {held} with, {free} without");
            }
            // The same throughput, and no later requests of high priority.
            assert!(number(held, "kept_share") > 0.99, "{held}");
            let [held, free] = [held, free].map(|row| number(row, "requests_p99_us"));
            assert!(held <= 1.01 * free, "{held} with, {free} without");
        }
    }
}

#[test]
fn throughput_knee_is_at_one_interrupt_interval() {
    let found = short(&[
        ("rates", "[\"1gbit\"]"),
        ("budgets", "[\"128k\"]"),
        ("knee_rates", "[\"1gbit\", \"10gbit\", \"20gbit\"]"),
    ]);
    assert_eq!(found.figures.len(), 3);
    let knee = of_part(&found, "knee").filter_map(|row| Some((row, budget_bytes(row)?)));
    let (mut rows, mut bent) = (0, 0);
    for (row, budget) in knee {
        rows += 1;
        let (payload, packets) = closed_form(budget, true);
        let link_bytes = number(row, "rate_bits_per_s") / 8e6 * number(row, "coalesce_us");
        let per_interval = (packets * time_bytes(payload)) as f64 / link_bytes;
        let share = number(row, "link_share");
        assert!(
            share <= per_interval.min(1.0) * 1.01,
            "{row}: {per_interval}"
        );
        // A packet in transmission at the interrupt waits for the next one. The loss is at most
        // that one packet, and above one packet more there is none.
        let one_less = ((packets - 1) * time_bytes(payload)) as f64 / link_bytes;
        assert!(share >= 0.98 * one_less.min(1.0), "{row}: {one_less}");
        bent += u32::from(share < 0.9);
    }
    assert_eq!(rows, 2 * 3 * 9);
    assert!(bent > 10, "{bent} rows below the knee");
}

#[test]
fn limit_bounds_an_orphaning_driver() {
    let found = short(&[
        ("rates", "[\"1gbit\"]"),
        ("budgets", "[\"128k\"]"),
        ("knee_rates", "[]"),
    ]);
    let rows: Vec<_> = of_part(&found, "orphaning driver").collect();
    let [proper, orphans, limited] = rows[..] else {
        panic!("{} rows", rows.len());
    };
    assert_eq!(number(proper, "orphaned_packets"), 0.0);
    let backlog = |row| number(row, "backlog_max_bytes");
    // 57 packets in the discipline, and the ring behind them: 1004 of 1024 descriptors at 3.35.
    let ring = 1_004.0 / 3.35 * 1_514.0;
    assert!(
        (0.97..1.03).contains(&(backlog(orphans) / (57.0 * 1_514.0 + ring))),
        "{orphans}"
    );
    // Twice the bytes of an interval, and two packets more, instead of the ring.
    let limit = 2.0 * 31_250.0 + 2.0 * 1_514.0;
    assert!(
        backlog(limited) <= 57.0 * 1_514.0 + limit + 200.0,
        "{limited}"
    );
    for row in [orphans, limited] {
        let frames = number(row, "throughput_bits_per_s") / 8.0 * 0.2 / 1_448.0;
        assert!(number(row, "orphaned_packets") >= frames, "{row}");
    }
    for row in rows {
        assert!(number(row, "link_share") > 0.99, "{row}");
    }
}

#[test]
fn table_is_the_same_on_every_machine() {
    let found = short(&[("knee_rates", "[]"), ("rates", "[\"1gbit\"]")]);
    let golden: Vec<_> = of_part(&found, "stream")
        .map(|row| {
            let count = |key| number(row, key) as u64;
            (
                row["budget"].as_str().unwrap_or_default(),
                [
                    count("backlog_mean_bytes"),
                    count("throttled"),
                    count("packet_mean_bytes"),
                ],
            )
        })
        .collect();
    assert_eq!(golden, GOLDEN);
}

/// Mean backlog in bytes, times throttled, mean packet in bytes: with TSO, then without.
const GOLDEN: [(&str, [u64; 3]); 10] = [
    ("none", [4122060, 0, 65226]),
    ("40000", [37684, 1999, 18890]),
    ("64k", [63753, 1843, 31922]),
    ("128k", [130370, 900, 65226]),
    ("rate", [717411, 882, 65226]),
    ("none", [1396942, 0, 1514]),
    ("40000", [27150, 1998, 1514]),
    ("64k", [43805, 1997, 1514]),
    ("128k", [86209, 1995, 1514]),
    ("rate", [474181, 1998, 1514]),
];

#[test]
fn invalid_value_error_has_the_key() {
    for (key, value) in [
        ("rates", "[]"),
        ("rates", "[\"0\"]"),
        ("budgets", "[]"),
        ("budgets", "[\"much\"]"),
        ("budgets", "[\"4294967295\"]"),
        ("ring", "0"),
        ("coalesce", "\"20s\""),
        ("knee_coalesce", "[]"),
        ("knee_duration", "\"0ns\""),
        ("requests_every", "\"0ns\""),
    ] {
        let text = file_with("small-queues", &[(key, value)]);
        let error = registry::check(&text)
            .map(|_| ())
            .expect_err(value)
            .to_string();
        assert!(error.contains(key), "{key} = {value}: {error}");
    }
}

/// A fast document that depends on the order of simultaneous events, which is the order of their
/// scheduling. With the other order the result is 129,801 bytes.
#[test]
fn simultaneous_events_are_in_scheduling_order() {
    let found = run_with(
        "small-queues",
        &[
            ("rates", "[\"1gbit\"]"),
            ("budgets", "[\"128k\"]"),
            ("warm_up", "\"10ms\""),
            ("duration", "\"10ms\""),
            ("knee_rates", "[\"100gbit\"]"),
            ("knee_budgets", "[\"none\", \"128k\"]"),
            ("knee_coalesce", "[\"25us\"]"),
        ],
    );
    let keys = [("part", "knee"), ("limit", "dql"), ("budget", "128k")];
    let row = row(&found, &keys);
    assert_eq!(number(row, "backlog_mean_bytes"), 129_817.0, "{row}");
}
