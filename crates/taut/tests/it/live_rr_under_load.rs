//! The main experiment, live. It saturates two cores for about a minute, so run it separately:
//! `cargo test --release -p taut --test it -- live_rr_under_load --ignored --test-threads 1`.
//!
//! The tests check bytes, which follow from link rate and completion interval, and ratios with wide
//! margins: the latency of transactions depends on the load of the machine.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::{self, number};

/// Stands for a space within an argument.
const SPACE: char = '\u{a0}';

fn lab(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command
        .args(["lab", "rr-under-load"])
        .args(arguments.split_ascii_whitespace());
    command.stdin(Stdio::null());
    command
}

/// Runs the lab. Returns its document, or `None` if it cannot run here.
fn run(arguments: &str) -> Option<Value> {
    let output = lab(arguments).arg("-j").output().expect("runs");
    live::ran(&output).then(|| live::document("rr-under-load", &output))
}

fn row(document: &Value, bql: bool, tso: bool) -> &Value {
    live::rows(document)
        .iter()
        .find(|row| row["bql"] == bql && row["tso"] == tso)
        .expect("the row was run")
}

#[test]
#[ignore = "saturates two cores"]
fn limit_shortens_the_ring_and_latency() {
    let Some(document) = run("--duration 2s --seed 7") else {
        return;
    };
    assert_eq!(document["seed"], 7);
    let (off_tso, on_tso) = (row(&document, false, true), row(&document, true, true));
    let (off, on) = (row(&document, false, false), row(&document, true, false));

    // A full ring: 300 packets of 1514 bytes, or about fifty GSO packets of up to 64 KB.
    assert!(
        (440e3..470e3).contains(&number(off, "/inflight_bytes/max")),
        "{off}"
    );
    assert!(
        (2e6..4.5e6).contains(&number(off_tso, "/inflight_bytes/max")),
        "{off_tso}"
    );
    // Twice the bytes of a completion interval: 2 x 250 us x 123 MB/s = 61.5K, and at most two
    // packets more.
    assert!(
        (55e3..75e3).contains(&number(on, "/inflight_bytes/p90")),
        "{on}"
    );
    assert!(
        (100e3..300e3).contains(&number(on_tso, "/inflight_bytes/p90")),
        "{on_tso}"
    );

    assert!(
        number(on_tso, "/rr_tps") > 5.0 * number(off_tso, "/rr_tps"),
        "{document}"
    );
    // Without TSO, the rates depend on the available CPU time, so they are not checked.
    // The link is never idle: 1448 of 1538 bytes of link time are payload.
    assert!(
        number(on_tso, "/goodput_bps") > 0.9 * number(off_tso, "/goodput_bps"),
        "{document}"
    );
    assert!(
        number(on_tso, "/goodput_bps") < 945e6,
        "more than the wire carries: {document}"
    );
    assert_eq!(document["figures"].as_array().map(Vec::len), Some(8));
}

#[test]
#[ignore = "saturates two cores"]
fn limit_keeps_a_shaped_packet_ring_short() {
    let Some(document) = run("--driver af_packet --rate 100mbit --duration 2s") else {
        return;
    };
    let (off, on) = (row(&document, false, false), row(&document, true, false));
    // 1024 slots of a packet each.
    assert!(number(off, "/inflight_bytes/max") > 1.4e6, "{off}");
    assert!(
        number(on, "/inflight_bytes/p90") < 0.1 * number(off, "/inflight_bytes/p90"),
        "{on}"
    );
    assert!(
        number(on, "/rr_tps") > 10.0 * number(off, "/rr_tps"),
        "{document}"
    );
    assert!(
        // On a busy machine the timers of the shaper are late, differently in each row.
        number(on, "/goodput_bps") > 0.8 * number(off, "/goodput_bps"),
        "{document}"
    );
}

#[test]
#[ignore = "saturates two cores"]
fn fixed_limit_admits_one_more_packet() {
    let Some(document) = run("--only limit=on,tso=off --limit 100k --duration 1s") else {
        return;
    };
    let max = number(row(&document, true, false), "/inflight_bytes/max");
    // 102,400 admits one more packet; the histogram is exact to a thousandth.
    assert!(
        (102_400.0 * 0.999..(102_400.0 + 1514.0) * 1.001).contains(&max),
        "{document}"
    );
}

/// Marks instead of drops, with and without GSO packets. The receiver's kernel drops a frame with a
/// wrong rewritten checksum, and the sender retransmits it.
#[test]
#[ignore = "saturates two cores"]
fn marks_slow_senders_without_loss() {
    // At 1 Gbit/s, the queue of a busy machine is empty too often to be a standing queue.
    let few = "--streams 4 --only limit=on --rate 200mbit --duration 2s";
    let Some(marking) = run(&format!("{few} --qdisc fq_codel")) else {
        return;
    };
    let dropping = run(&format!("{few} --qdisc fq_codel{SPACE}noecn")).expect("it ran before");
    for tso in [true, false] {
        let (marked, dropped) = (row(&marking, true, tso), row(&dropping, true, tso));
        assert!(number(marked, "/marks") >= 10.0, "{marked}");
        assert_eq!(number(dropped, "/marks"), 0.0, "{dropped}");
        assert!(number(dropped, "/drops") >= 10.0, "{dropped}");
        // A frame with a wrong checksum is retransmitted until a copy passes unmarked: about thirty
        // times for each mark. A busy machine drops a few frames in the TAP.
        let again = number(marked, "/retransmits");
        assert!(again < 5.0 * number(marked, "/marks"), "{marked}");
        assert!(
            again < number(dropped, "/retransmits"),
            "{marked} {dropped}"
        );
        assert!(
            number(marked, "/goodput_bps") > 0.8 * number(dropped, "/goodput_bps"),
            "{marked} {dropped}"
        );
    }
}

#[test]
#[ignore = "saturates two cores"]
fn killed_lab_leaves_no_namespace() {
    if run("--only limit=on,tso=on --duration 500ms --streams 1").is_none() {
        return;
    }
    let mut child = lab("--duration 60s")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ours = namespaces_of("self");
    let created = |child: &Child| -> Vec<String> {
        let theirs = namespaces_of(&child.id().to_string());
        theirs
            .into_iter()
            .filter(|namespace| !ours.contains(namespace))
            .collect()
    };
    let grown = wait_until(|| created(&child).len() >= 2);
    let namespaces = created(&child);
    child.kill().expect("still running");
    child.wait().expect("was killed");
    assert!(
        grown,
        "the lab created {namespaces:?}: too few for this test"
    );

    // Processes, descriptors and mounts keep a namespace alive.
    let holders = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let holds = |pid: &String| {
            namespaces_of(pid)
                .iter()
                .any(|held| namespaces.contains(held))
        };
        processes
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(holds)
            .collect::<Vec<_>>()
    };
    assert!(
        wait_until(|| holders().is_empty()),
        "{namespaces:?} held by {:?}",
        holders()
    );
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    for namespace in &namespaces {
        assert!(
            !mounts.contains(namespace.as_str()),
            "{namespace} is mounted"
        );
    }
}

/// Returns the network namespaces of a process, of its threads and descriptors: `net:[4026531840]`.
fn namespaces_of(pid: &str) -> Vec<String> {
    let entries = |folder: String| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let threads = entries(format!("/proc/{pid}/task")).map(|task| task.path().join("ns/net"));
    let descriptors = entries(format!("/proc/{pid}/fd")).map(|fd| fd.path());
    threads
        .chain(descriptors)
        .filter_map(|link| {
            std::fs::read_link(link)
                .ok()?
                .into_os_string()
                .into_string()
                .ok()
        })
        .filter(|target| target.starts_with("net:["))
        .collect()
}

/// Polls for up to 30 s, for busy machines.
fn wait_until(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}
