//! `taut send` without sending: invalid options, files and devices.

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
    let cases: [(&[&str], i32, &str); 8] = [
        (&[], 2, "DEV"),
        (&["lo", "--limit", "12q"], 2, "allowed are off"),
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
