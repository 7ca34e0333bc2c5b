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
