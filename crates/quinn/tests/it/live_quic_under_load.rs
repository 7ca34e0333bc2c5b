//! The example `quic_under_load`. It must be built:
//! `cargo test --release -p taut-quinn -- live_quic_under_load --ignored --test-threads 1`.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The exit code of a command that cannot run here.
const CANNOT_RUN_HERE: i32 = 77;

fn example(arguments: &str) -> Command {
    let test = std::env::current_exe().expect("a path");
    let target = test.ancestors().nth(2).expect("deps and the profile");
    let mut command = Command::new(target.join("examples/quic_under_load"));
    command.arg("-j").args(arguments.split(' '));
    command.stdin(Stdio::null());
    command
}

/// Returns the document of a run; `None` if it cannot run and is not required.
fn document(output: &Output, code: i32) -> Option<Value> {
    let talk = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(CANNOT_RUN_HERE) {
        let ci = std::env::var("CI");
        assert_ne!(ci.as_deref(), Ok("true"), "must run in CI: {talk}");
        eprintln!("skipped: {talk}");
        return None;
    }
    assert_eq!(output.status.code(), Some(code), "{talk}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["scenario"], "quic");
    Some(document)
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().expect("rows")
}

/// The number at a JSON pointer.
fn number(row: &Value, path: &str) -> f64 {
    let value = row.pointer(path).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("{path} in {row}"))
}

#[test]
#[ignore = "needs the example"]
fn plan_names_the_path_and_each_row() {
    let options = "--dry-run --only taut --repeat 3 --falls --distance 50ms --topology routed";
    let plan = example(options).output().expect("runs");
    assert!(plan.status.success());
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    for part in [
        "a fifth of it in the middle third, routed, 50ms away",
        "would run taut, 1 connection: 3 times 5000 ms and a warm-up",
        "would run taut, 2 connections: 3 times 5000 ms and a warm-up",
    ] {
        assert!(plan.contains(part), "{plan}");
    }
    let nothing = example("--only nothing").status().expect("runs");
    assert_eq!(nothing.code(), Some(2));
}

/// Compares plain and taut, each on one connection and on two. The expected ratios are a tenth and
/// 99 %; the tests allow a third and 80 %, for busy machines.
fn a_request_is_answered_sooner_and_as_much_passes(arguments: &str) {
    let output = example(arguments).output().expect("runs");
    let Some(document) = document(&output, 0) else {
        return;
    };
    let rows = rows(&document);
    let what = |row: &Value| format!("{} {}", row["variant"], row["connections"]);
    assert_eq!(
        rows.iter().map(what).collect::<Vec<_>>(),
        ["\"plain\" 1", "\"taut\" 1", "\"plain\" 2", "\"taut\" 2"]
    );
    for row in rows {
        println!("{row}");
        let keys: Vec<_> = row.as_object().expect("an object").keys().collect();
        assert_eq!(
            keys,
            [
                "variant",
                "connections",
                "request_us",
                "goodput_bps",
                "below_socket_bytes",
                "limit_bytes_p50",
                "lost_datagrams",
                "cpu_percent"
            ]
        );
    }
    for pair in rows.chunks(2) {
        let (plain, taut) = (&pair[0], &pair[1]);
        let ratio = |path| number(taut, path) / number(plain, path);
        assert!(ratio("/request_us/p50") < 0.34, "{taut}");
        assert!(ratio("/goodput_bps") > 0.8, "{taut}");
        assert!(number(taut, "/limit_bytes_p50") < 60_000.0, "{taut}");
    }
}

#[test]
#[ignore = "keeps two cores busy"]
fn request_overtakes_bulk_with_a_limit() {
    a_request_is_answered_sooner_and_as_much_passes("--only plain --only taut --duration 1s");
}

#[test]
#[ignore = "keeps two cores busy"]
fn a_queue_beyond_a_router_is_seen_too() {
    let arguments = "--only plain --only taut --duration 1s --topology routed";
    a_request_is_answered_sooner_and_as_much_passes(arguments);
}

#[test]
#[ignore = "keeps two cores busy"]
fn interrupt_ends_a_row_and_keeps_earlier_ones() {
    let arguments = "--only taut --only plain --duration 500ms --repeat 9";
    let mut command = example(arguments);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.expect("runs");
    // The warm-up of a row takes 2 s, so this is in the middle of the second row.
    thread::sleep(Duration::from_millis(3_300));
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    // If it cannot run, it has ended.
    let _ = kill_process(pid, Signal::INT);
    let output = child.wait_with_output().expect("ends");
    let Some(document) = document(&output, 130) else {
        return;
    };
    assert_eq!(document["interrupted"], true);
    let finished = rows(&document).len();
    assert!((1..4).contains(&finished), "{finished}");
}
