//! `taut lab software-consumer`, shortened: counts, and no wall time. Run on its own:
//! `cargo test --release -p taut --test it -- live_software_consumer --ignored --test-threads 1`.

use serde_json::Value;

use crate::live::{self, number};
use crate::sim_command::{Scratch, stdout};

fn rows(arguments: &str) -> (Value, Vec<Value>) {
    let line = format!("lab software-consumer -j --duration 200ms --warm-up 200ms {arguments}");
    let document: Value = serde_json::from_str(&stdout(&line)).expect("one JSON document");
    assert_eq!(document["scenario"], "software-consumer");
    let rows = live::rows(&document).clone();
    (document, rows)
}

/// The command fails by itself if a packet is not told of.
#[test]
#[ignore = "keeps a core busy at real-time priority"]
fn a_limit_told_one_by_one_collapses_to_two_packets_and_a_floor_holds_it() {
    let limits = "--limit off --limit dql:packets --limit dql:packets:min-8 --limit fixed:99.9%";
    let line = format!("--consumer fast --core shared --told each --rounds 3 {limits}");
    let (_, rows) = rows(&line);
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["limit"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        ["off", "dql:packets", "dql:packets:min-8", "fixed:99.9%"]
    );
    let [off, dql, floor, least] = &rows[..] else {
        panic!("four rows: {rows:?}");
    };
    assert!(off["limit_p50"].is_null(), "{off}");
    // Three at most: two, and one object more where the last one was let through.
    assert!(number(dql, "/limit_p50") <= 3.0, "{dql}");
    assert!(number(floor, "/limit_p50") >= 8.0, "{floor}");
    assert!(
        number(dql, "/inflight_mean") < number(floor, "/inflight_mean"),
        "{floor}"
    );
    assert!(
        number(floor, "/inflight_mean") < number(off, "/inflight_mean"),
        "{off}"
    );
    for row in [off, dql, floor, least] {
        assert!(
            number(row, "/pps") > 0.0 && number(row, "/rounds") == 3.0,
            "{row}"
        );
        assert!(number(row, "/inflight_mean") <= 256.0, "{row}");
        assert!(
            row["ping_us"]["p50"].as_f64() <= row["ping_us"]["p99"].as_f64(),
            "{row}"
        );
    }
    assert_eq!(number(least, "/over_least"), 1.0, "{least}");
}

#[test]
#[ignore = "keeps two cores busy at real-time priority"]
fn two_cores_and_every_way_of_telling_lose_nothing_and_can_be_replayed() {
    let scratch = Scratch::new("live-software-consumer");
    let trace = scratch.file("a.trace");
    let limits = "--limit taut:packets --limit dql --ring 64 --poll 16 --slow-packet 50us";
    let line = format!("--consumer slow {limits} --trace {}", trace.display());
    let (document, rows) = rows(&line);
    assert_eq!(document["parameters"]["poll_packets"], 16);
    // Two cores, three ways of telling, and off beside the two limits.
    assert_eq!(rows.len(), 18, "{rows:?}");
    assert!(rows.iter().all(|row| number(row, "/pps") > 0.0), "{rows:?}");
    let text = stdout(&format!("replay {} --limit dql -j", trace.display()));
    let replayed: Value = serde_json::from_str(&text).expect("one JSON document");
    assert_eq!(
        replayed["rows"].as_array().map(Vec::len),
        Some(18),
        "{replayed}"
    );
}
