//! `taut send` where nothing is sent: wrong options, files and devices.

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
fn what_cannot_be_is_named_and_exits_as_said() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&[], 2, "DEV"),
        (&["lo", "--limit", "12q"], 2, "allowed are off"),
        (&["lo", "--driver", "xdp"], 2, "af_xdp"),
        (&["no-such-device"], 1, "no-such-device"),
        (&["no/name"], 1, "device name"),
        (
            &["lo", "/no/such/file.pcap"],
            1,
            "/no/such/file.pcap: No such file",
        ),
        (&["lo", "/tmp"], 1, "/tmp: is a directory"),
        (&["-n", "no-such-namespace", "lo"], 1, "no-such-namespace"),
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
fn a_dry_run_says_what_would_be_sent() {
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
        "5 at most",
        "limit 40k",
    ] {
        assert!(text.contains(what), "{what}: {text}");
    }
}
