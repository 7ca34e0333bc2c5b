//! `taut record` and `taut replay`.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::observe_tree::Tree;
use crate::sim_command::{Scratch, failed, stdout, taut};

#[test]
fn changes_are_recorded_with_times() {
    let tree = Tree::new("record");
    tree.add("eth0", 2);
    let path = tree.device("out.trace");
    let line = tree.line(&format!("record eth0 -q 1 -o {} -t 60s", path.display()));
    let child = taut(&line).stderr(Stdio::piped()).spawn().expect("starts");
    // Intermediate values can be missed; the last value cannot.
    for in_flight in ["3000", "4000", "5000"] {
        sleep(Duration::from_millis(300));
        tree.set("eth0", 1, "inflight", in_flight);
    }
    sleep(Duration::from_millis(500));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("ends");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert!(talk.contains(" (1000 requested)"), "{talk}");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines[0][..3], ["taut-trace", "3", "scenario=record eth0"]);
    assert_eq!(lines[0][5], "sampled=1000");
    assert_eq!(lines[1], ["row", "eth0 queue 1", "kernel"]);
    assert_eq!(lines[2][1..], ["limit", "40000"]);
    let seen: Vec<&str> = lines[3..].iter().map(|line| line[2]).collect();
    assert_eq!(
        (seen.first(), seen.last()),
        (Some(&"2000"), Some(&"5000")),
        "{text}"
    );
    assert!(
        lines[3..].iter().all(|line| line[1] == "inflight"),
        "{text}"
    );
    let refused = failed(&format!("replay {}", path.display()), 2);
    assert!(refused.contains("it cannot be replayed"), "{refused}");
}

#[test]
fn unrecordable_queues_are_rejected() {
    let tree = Tree::new("record-refused");
    tree.add("eth0", 1).add_virtual("lo");
    let line = |text: &str| {
        tree.line(&format!(
            "record {text} -o {}",
            tree.device("out").display()
        ))
    };
    assert!(failed(&line("eth1"), 1).contains("there are: eth0, lo"));
    assert!(failed(&line("lo"), 1).contains("lo has no byte limit to record: virtual device"));
    assert!(failed(&line("eth0 --hz 0"), 2).contains("--hz"));
    assert!(failed(&tree.line("record eth0 -o /nowhere/out"), 1).contains("/nowhere/out"));
}

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
