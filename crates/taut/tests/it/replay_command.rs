//! `taut replay`.

use std::fs;

use serde_json::Value;

use crate::sim_command::{Scratch, failed, stdout};

/// A simulated run that is replayed under another limit has the bytes in flight of a run with that
/// limit.
#[test]
fn replay_has_bytes_of_the_other_limit() {
    let scratch = Scratch::new("replay");
    let (trace, page) = (scratch.file("a.trace"), scratch.file("a.html"));
    let base = "sim rr-under-load --streams 20 --duration 1s --only tso=off,limit=on";
    stdout(&format!("{base} --limit dql --trace {}", trace.display()));
    let replay = format!(
        "replay {} --limit dql --limit 40k --limit off --report {}",
        trace.display(),
        page.display()
    );
    let document: Value = serde_json::from_str(&stdout(&format!("{replay} -j"))).unwrap();
    let rate = document["parameters"]["queues"][0]["rate_bits_per_s"]
        .as_u64()
        .unwrap();
    assert!((950_000_000..1_000_000_000).contains(&rate), "{rate}");
    let rows = document["rows"].as_array().unwrap();
    let replayed = |rule: &str| {
        let row = rows.iter().find(|row| row["rule"] == rule).expect("a row");
        row["in_flight_bytes"]["p50"].as_u64().unwrap()
    };
    for rule in ["dql", "40k"] {
        let text = stdout(&format!("{base} --limit {rule} -j"));
        let own: Value = serde_json::from_str(&text).unwrap();
        let own = own["rows"][0]["inflight_bytes"]["p50"].as_u64().unwrap();
        let here = replayed(rule);
        assert!(
            own.abs_diff(here) * 100 <= own * 15,
            "{rule}: {own} itself, {here} replayed"
        );
    }
    assert!(replayed("off") > 2 * replayed("dql"));
    assert!(fs::read_to_string(page).unwrap().contains("Open-loop"));
    let table = stdout(&replay);
    assert!(
        table.contains("Open-loop: the senders do not react"),
        "{table}"
    );
}

#[test]
fn invalid_trace_error_has_a_line() {
    let scratch = Scratch::new("replay-refused");
    let path = scratch.file("bad.trace");
    let line = format!("replay {}", path.display());
    assert!(failed(&line, 1).contains("no file "));
    for (text, part) in [
        ("", "line 1 cannot be parsed"),
        (
            "taut-trace\t3\tscenario=x\tseed=1\ttaut=0\n",
            "no queue in it",
        ),
        (
            "taut-trace\t3\tscenario=x\tseed=1\ttaut=0\n5\tsent\t1\t1\t0\n",
            "before the first row",
        ),
        (
            "taut-trace\t3\tscenario=x\tseed=1\ttaut=0\nrow\ta\tdql\n",
            "there are: a",
        ),
        (
            "taut-trace\t3\tscenario=x\tseed=1\ttaut=0\nrow\ta\tdql\n5\tsent\t9\t1\t0\n",
            "set it with --rate",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let talk = failed(&line, 2);
        assert!(talk.contains(part), "{text:?}: {talk}");
    }
    assert!(failed(&format!("{line} --limit what"), 2).contains("--limit"));
}
