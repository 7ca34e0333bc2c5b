//! What the lab says without doing anything, and without privilege.

use std::fs::File;
use std::process::{Command, Stdio};

fn dry_run() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["lab", "rr-under-load", "--dry-run", "--only", "tso=off"]);
    command.stdin(Stdio::null());
    command
}

#[test]
fn the_plan_names_the_rows_that_would_run() {
    let output = dry_run().output().expect("runs");
    assert!(output.status.success());
    let plan = String::from_utf8_lossy(&output.stdout);
    let rows = plan.lines().filter(|line| line.starts_with("would run"));
    assert_eq!(rows.count(), 2, "{plan}");
    assert!(plan.contains("limit dql, TSO off: 7 s"), "{plan}");
}

#[test]
fn a_plan_that_cannot_be_printed_is_a_failure_and_no_panic() {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a device that is full");
    let output = dry_run().stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.starts_with("taut: cannot write to stdout"), "{talk}");
}

#[test]
fn the_plan_of_quic_names_the_path_and_each_row_and_a_bad_value_is_bad_usage() {
    let run = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["lab", "quic"]).args(arguments.split(' '));
        command.stdin(Stdio::null()).output().expect("runs")
    };
    let plan = run("--dry-run --only taut --rounds 3 --falls --distance 50ms --topology routed");
    assert!(plan.status.success());
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    for part in [
        "a fifth of it in the middle third, routed, 50ms away",
        "would run taut, 1 connection: 3 times 5000 ms and a warm-up",
        "would run taut, 2 connections: 3 times 5000 ms and a warm-up",
    ] {
        assert!(plan.contains(part), "{plan}");
    }
    for bad in [
        "--distance 2s",
        "--distance 50",
        "--rounds 0",
        "--topology far",
        "--only nothing",
    ] {
        assert_eq!(run(bad).status.code(), Some(2), "{bad}");
    }
}

#[cfg(not(feature = "quic"))]
#[test]
fn a_build_without_quic_says_how_to_get_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let output = command.args(["lab", "quic"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(77));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.contains("--features quic"), "{talk}");
}
