//! Interrupts, closed pipes and limit names, at the command line.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{fs, thread};

use crate::sim_command::{Scratch, failed, stdout, taut};
use serde_json::Value;

/// A run that does not end in a test, and finishes its first row in a moment.
const ENDLESS: &str = r#"scenario = "right-size"
rates = ["400gbit"]
warm_up = "0ns"
duration = "3600s"
traffic = [{ name = "short", at_most = "1ms" }, { name = "endless" }]
"#;

/// Starts `arguments` and sends `signal` after `wait`, twice at once, as a terminal with `timeout`
/// can. Returns the output.
fn interrupted(arguments: &str, signal: &str, wait: Duration) -> Output {
    let mut command = taut(arguments);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    thread::sleep(wait);
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id, &id]).status();
    assert!(sent.expect("kill").success());
    child.wait_with_output().expect("ends")
}

/// As [`interrupted`], with a longer wait until a row was finished: independent of the machine's
/// speed.
fn interrupted_with_rows(arguments: &str, signal: &str) -> Output {
    let mut wait = Duration::from_millis(500);
    loop {
        let output = interrupted(arguments, signal, wait);
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        if !talk.contains("before any row") {
            return output;
        }
        wait *= 2;
        assert!(wait < Duration::from_secs(120), "{talk}");
    }
}

#[test]
fn interrupted_run_prints_finished_rows() {
    let scratch = Scratch::new("interrupted");
    let file = scratch.file("endless.toml");
    fs::write(&file, ENDLESS).unwrap();
    let run = format!("sim run {}", file.display());
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let output = interrupted_with_rows(&format!("{run} -j"), signal);
        assert_eq!(output.status.code(), Some(code), "{signal}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        assert_eq!(document["interrupted"], true);
        let rows = document["rows"].as_array().expect("rows").len();
        assert!(rows > 0);
        let talk = String::from_utf8(output.stderr).unwrap();
        assert!(talk.contains("taut: interrupted; "), "{talk}");
    }
    let page = scratch.file("out.html");
    let output = interrupted_with_rows(&format!("{run} --report {}", page.display()), "-INT");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("\ninterrupted: only finished rows"),
        "{table}"
    );
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("The run was interrupted")
    );
}

#[test]
fn interrupted_run_reports_kept_runs() {
    let scratch = Scratch::new("kept");
    let (file, kept) = (scratch.file("endless.toml"), scratch.file("runs"));
    fs::write(&file, ENDLESS).unwrap();
    let run = format!("sim run {} --resume {}", file.display(), kept.display());
    let output = interrupted_with_rows(&run, "-INT");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains(" keeps 0 of 1 runs; "), "{talk}");
}

#[test]
fn run_without_rows_writes_no_report() {
    let scratch = Scratch::new("no-row");
    let page = scratch.file("out.html");
    let line = format!(
        "sim rr-under-load --duration 3600s --report {}",
        page.display()
    );
    // The signal handler must be installed: a run that was killed before has no exit code.
    let mut wait = Duration::from_millis(500);
    let output = loop {
        let output = interrupted(&line, "-INT", wait);
        if output.status.code().is_some() {
            break output;
        }
        wait *= 2;
        assert!(wait < Duration::from_secs(60));
    };
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(talk, "taut: interrupted before any row was finished\n");
    assert_eq!(scratch.names().len(), 0);
}

/// The default capacity of a pipe in Linux.
const PIPE_BYTES: usize = 65_536;

#[test]
fn second_signal_ends_a_blocked_run() {
    let scratch = Scratch::new("second-signal");
    let file = scratch.file("endless.toml");
    fs::write(&file, ENDLESS).unwrap();
    let send_int = |id: &str| {
        let sent = Command::new("kill").args(["-INT", id]).status();
        assert!(sent.expect("kill").success());
    };
    let mut wait = Duration::from_millis(500);
    loop {
        // The pipe is full and has no reader: the run blocks when it prints its rows.
        let (_reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&[0; PIPE_BYTES]).unwrap();
        let mut child = taut(&format!("sim run {} -j", file.display()))
            .stdout(writer)
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let id = child.id().to_string();
        thread::sleep(wait);
        send_int(&id);
        // Longer than the time in which signals count as one.
        thread::sleep(Duration::from_millis(1_000));
        let early = child.try_wait().expect("ours");
        if early.is_none() {
            send_int(&id);
            // A run that does not end fails here, instead of blocking the other tests.
            let ended = (0..600).find_map(|_| {
                thread::sleep(Duration::from_millis(100));
                child.try_wait().expect("ours")
            });
            let _ = child.kill();
            let ended = ended.expect("ends");
            assert_eq!(ended.signal(), Some(2), "{ended}");
            return;
        }
        // Its signal handler was not installed yet, or it had no row to print.
        wait *= 2;
        assert!(wait < Duration::from_secs(60), "{early:?}");
    }
}

#[test]
fn closed_stderr_does_not_end_a_run() {
    let scratch = Scratch::new("stderr");
    let page = scratch.file("out.html");
    let report = format!("sim right-size --report {}", page.display());
    for (line, code) in [
        (report.as_str(), 0),
        ("lab rr-under-load --only limit=on --limit off", 2),
        ("lab rr-under-load --limit what", 2),
        ("sim run /nowhere.toml", 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = taut(line).stderr(writer).output().unwrap();
        assert_eq!(closed.status.code(), Some(code), "closed: {line}");
        if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
            let full = taut(line).stderr(full).output().unwrap();
            assert_eq!(full.status.code(), Some(code), "full: {line}");
        }
    }
}

#[test]
fn unwritable_help_fails_but_closed_pipe_does_not() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let left = taut("--help").stdout(writer).output().unwrap();
    assert_eq!(left.status.code(), Some(0));
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        let full = taut("--help").stdout(full).output().unwrap();
        assert_eq!(full.status.code(), Some(1));
    }
}

#[test]
fn limits_are_printed_as_given() {
    let short = "sim rr-under-load --streams 4 --duration 500ms --only tso=off";
    let limits = |line: &str| {
        let document: Value = serde_json::from_str(&stdout(&format!("{short} {line} -j"))).unwrap();
        let rows = document["rows"].as_array().unwrap().iter();
        let limit = |row: &Value| row["limit"].as_str().unwrap().to_owned();
        rows.map(limit).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(limits("--limit 40k --limit off"), "off 40k");
    assert_eq!(limits("--limit off"), "off");
    let table = stdout(&format!("{short} --limit 40k"));
    assert!(table.contains("\n40k     off |"), "{table}");
    assert!(failed(&format!("{short},limit=on --limit off"), 2).contains("limit=off"));
    let spelled = stdout("send lo --limit off --dry-run");
    assert!(spelled.contains("limit off,"), "{spelled}");
}

#[test]
fn taut_has_one_name_and_is_drawn_alone() {
    let scratch = Scratch::new("one-name");
    let page = scratch.file("out.html");
    let line = "sim limit-rules --only p01 --only p05";
    let table = stdout(&format!("{line} --limit taut --report {}", page.display()));
    assert_eq!(table.matches("\n  taut ").count(), 2, "{table}");
    assert!(table.contains("\nOver all traces"), "{table}");
    assert!(
        table.contains("\nratio: mean bytes in the ring over"),
        "{table}"
    );
    let html = fs::read_to_string(page).unwrap();
    // One chart of each pattern; a legend and a line in each.
    assert_eq!(html.matches("class=\"line c9 solid\"").count(), 2 * 2);
    assert!(html.contains("M46.0"));
}
