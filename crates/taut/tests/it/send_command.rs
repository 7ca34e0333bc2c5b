//! `taut send` without sending: invalid options, files and devices.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn send(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taut"))
        .arg("send")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("runs")
}

#[test]
fn invalid_command_lines_exit_with_their_code() {
    let cases: [(&[&str], i32, &str); 11] = [
        (&[], 2, "DEV"),
        (&["lo", "--limit", "12q"], 2, "allowed: off"),
        (&["lo", "--driver", "xdp"], 2, "af_xdp"),
        (
            &["no-such-device"],
            1,
            "no device \"no-such-device\"; there are: ",
        ),
        (&["no/name"], 1, "device name"),
        (
            &["lo", "/no/such/file.pcap"],
            1,
            "no file \"/no/such/file.pcap\"",
        ),
        (&["lo", "/tmp"], 1, "/tmp: is a directory"),
        (&["lo", "-"], 1, "-: is empty"),
        (&["lo", "--timing", "capture"], 2, "needs a FILE"),
        (
            &["lo", "-", "--timing", "capture", "--rate", "1mbit"],
            2,
            "--rate cannot be used",
        ),
        (
            &["-n", "no-such-namespace", "lo"],
            1,
            "no network namespace \"no-such-namespace\"",
        ),
    ];
    for (arguments, code, what) in cases {
        let output = send(arguments);
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {talk}");
        assert!(talk.contains(what), "{arguments:?}: {talk}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn dry_run_prints_the_plan() {
    let output = send(&[
        "lo",
        "--dry-run",
        "--count",
        "5",
        "--size",
        "100",
        "--limit",
        "40k",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for what in [
        "would send on lo over af_packet",
        "100 bytes",
        "at most 5 packets",
        "limit 40k",
    ] {
        assert!(text.contains(what), "{what}: {text}");
    }
}

#[test]
fn unfinished_capture_on_stdin_is_reported() {
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1];
    let records = [[1, 0, 14, 14], [1, 0, 60, 60]].map(|record| record.map(u32::to_le_bytes));
    let file = [
        head.map(u32::to_le_bytes).concat(),
        records[0].concat(),
        vec![7; 14],
        records[1].concat(),
        vec![7; 59],
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["send", "lo", "-", "--dry-run"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(&file.concat()).expect("reads");
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{talk}");
    let reason = "standard input ends within a record of 60 bytes, at offset 54, after 1 packet";
    assert!(talk.contains(reason), "{talk}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 packets of standard input"), "{text}");
}
