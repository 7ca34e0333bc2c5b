//! Dry runs of the lab, without privilege.

use std::fs::File;
use std::process::{Command, Stdio};

fn dry_run() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["lab", "rr-under-load", "--dry-run", "--only", "tso=off"]);
    command.stdin(Stdio::null());
    command
}

#[test]
fn plan_lists_the_rows() {
    let output = dry_run().output().expect("runs");
    assert!(output.status.success());
    let plan = String::from_utf8_lossy(&output.stdout);
    let rows = plan.lines().filter(|line| line.starts_with("would run"));
    assert_eq!(rows.count(), 2, "{plan}");
    assert!(plan.contains("limit dql, TSO off: 7 s"), "{plan}");
}

#[test]
fn unwritable_plan_fails_without_panic() {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = dry_run().stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.starts_with("taut: cannot write to stdout"), "{talk}");
}
