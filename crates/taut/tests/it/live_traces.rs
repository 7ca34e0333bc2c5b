//! Traces of live queues, and how far their replays can be trusted. Run on its own:
//! `cargo test --release -p taut --test it -- live_traces --ignored --test-threads 1`.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::{self, ran};
use crate::sim_command::{Scratch, stdout, taut};

/// Each of four live runs, replayed under the limits of the three that have one: the bytes in flight are within
/// 15 % of what they were there. Between TAPs the device is ours and tells at nominal times, so that a
/// busy machine does not change it. Medians, since a machine that stands still for half a second empties one
/// run's ring and not the others'. `scripts/live-replay.sh` says how it is elsewhere.
#[test]
#[ignore = "saturates two cores"]
fn a_live_run_replayed_under_another_limit_has_the_bytes_of_a_live_run_under_it() {
    let scratch = Scratch::new("live-replay");
    let trace = scratch.file("a.trace");
    let limits = "--limit dql --limit taut --limit 40k";
    let lab = format!(
        "lab rr-under-load --only tso=off --duration 1s {limits} -j --trace {}",
        trace.display()
    );
    let lab = taut(&lab).output().expect("runs");
    if !ran(&lab) {
        return;
    }
    let lab = live::document("rr-under-load", &lab);
    let live = live::rows(&lab);
    assert_eq!(live.len(), 4, "{lab}");
    let text = stdout(&format!("replay {} {limits} -j", trace.display()));
    let document: Value = serde_json::from_str(&text).expect("one JSON document");
    let rows = live::rows(&document);
    assert_eq!(rows.len(), 12, "{document}");
    for row in rows {
        let there = live.iter().find(|it| it["limit"] == row["rule"]);
        let there = there.and_then(|it| it["inflight_bytes"]["p50"].as_u64());
        close(there.expect("it was run"), row, "p50");
    }
    // Under its own limit, what happened to the machine is in the trace: the whole run agrees.
    for queue in document["parameters"]["queues"].as_array().expect("queues") {
        let own = |row: &&Value| {
            let name = row["queue"].as_str().expect("a name");
            row["rule"] == queue["limit"] && name == queue["queue"]
        };
        let there = queue["in_flight_mean_bytes"].as_u64().expect("a mean");
        if let Some(row) = rows.iter().find(own) {
            close(there, row, "mean");
        }
    }
}

/// A replayed row's bytes in flight are within 15 % of those there.
fn close(there: u64, row: &Value, which: &str) {
    let here = row["in_flight_bytes"][which].as_u64().expect("bytes");
    println!(
        "{} as {}: {which} {here}, {there} live",
        row["queue"], row["rule"]
    );
    let off = there.abs_diff(here);
    assert!(off * 100 <= there * 15, "{there} live, here {row}");
}

/// Both threads' events are in one trace, in order of time, and it is a whole one.
#[test]
#[ignore = "keeps two cores busy"]
fn two_threads_are_traced_and_seen_while_they_run() {
    let scratch = Scratch::new("live-two-threads");
    let (trace, directory) = (scratch.file("a.trace"), scratch.file("run"));
    let line = format!("lab two-threads --duration 3s --trace {}", trace.display());
    let lab = taut(&line)
        .env("TAUT_RUNTIME_DIR", &directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let show = || {
        let output = Command::new(env!("CARGO_BIN_EXE_taut"))
            .args(["show", "-j"])
            .env("TAUT_RUNTIME_DIR", &directory)
            .output()
            .expect("runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // It may not be able to run here at all.
    let (mut lab, start) = (lab, Instant::now());
    let mut seen = false;
    while !seen && lab.try_wait().expect("a child").is_none() {
        assert!(start.elapsed() < Duration::from_secs(120));
        seen = show().contains("lab two-threads");
        sleep(Duration::from_millis(50));
    }
    if !ran(&lab.wait_with_output().expect("ends")) {
        return;
    }
    assert!(seen, "nobody saw it while it ran");
    assert!(!show().contains("lab two-threads"), "it is gone");

    let text = std::fs::read_to_string(&trace).expect("the trace");
    let (mut before_ns, mut sent, mut back) = (0, 0_u64, 0_u64);
    for line in text.lines().skip(2) {
        let fields: Vec<&str> = line.split('\t').collect();
        let at_ns: u64 = fields[0].parse().expect("a time");
        assert!(at_ns >= before_ns, "time goes back: {line}");
        before_ns = at_ns;
        match fields[1] {
            "sent" => sent += fields[2].parse::<u64>().expect("bytes"),
            "completed" => back += fields[2].parse::<u64>().expect("bytes"),
            _ => {}
        }
    }
    assert!(sent > 1_000_000, "{sent}");
    assert_eq!(sent, back, "every byte came back");
}
