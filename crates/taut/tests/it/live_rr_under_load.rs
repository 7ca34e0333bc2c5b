//! The main experiment, live. Saturates two cores for about a minute, so it is run on its own:
//! `cargo test --release -p taut --test it -- live_rr_under_load --ignored --test-threads 1`.
//!
//! Gated on bytes, which follow from link rate and cadence, and on ratios with wide margins: on a
//! busy machine transactions take what time they take.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::{self, number};

/// A space within an argument.
const SPACE: char = '\u{a0}';

fn lab(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command
        .args(["lab", "rr-under-load"])
        .args(arguments.split_ascii_whitespace());
    command.stdin(Stdio::null());
    command
}

/// Runs the lab and reads its document; `None` where it cannot run and need not.
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
fn with_the_limit_the_ring_is_just_full_enough_and_requests_are_fast() {
    let Some(document) = run("--duration 2s --seed 7") else {
        return;
    };
    assert_eq!(document["seed"], 7);
    let (off_tso, on_tso) = (row(&document, false, true), row(&document, true, true));
    let (off, on) = (row(&document, false, false), row(&document, true, false));

    // A full ring: 300 packets of 1514 bytes, or some fifty super-packets of up to 64 KB.
    assert!(
        (440e3..470e3).contains(&number(off, "/inflight_bytes/max")),
        "{off}"
    );
    assert!(
        (2e6..4.5e6).contains(&number(off_tso, "/inflight_bytes/max")),
        "{off_tso}"
    );
    // Twice the bytes of a cadence: 2 x 250 us x 123 MB/s = 61.5K, and at most two packets more.
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
    // Without TSO the rates say how much of a core was left for the lab, so they are not looked at.
    // The wire never starves: 1448 of 1538 bytes of link time are payload.
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
fn a_packet_ring_in_front_of_a_shaper_is_held_short_by_the_limit() {
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
        // The shaper's own timers are late on a busy machine, in one row more than in the other.
        number(on, "/goodput_bps") > 0.8 * number(off, "/goodput_bps"),
        "{document}"
    );
}

#[test]
#[ignore = "saturates two cores"]
fn a_fixed_limit_holds_what_it_says_and_one_packet_more() {
    let Some(document) = run("--only bql=on,tso=off --limit 100k --duration 1s") else {
        return;
    };
    let max = number(row(&document, true, false), "/inflight_bytes/max");
    // 102,400 admits one more packet; the histogram is exact to a thousandth.
    assert!(
        (102_400.0 * 0.999..(102_400.0 + 1514.0) * 1.001).contains(&max),
        "{document}"
    );
}

/// Marks in place of drops, with super-packets and without: a frame whose rewritten checksum were
/// wrong would be thrown away by the receiver's kernel, and its sender would send it again.
#[test]
#[ignore = "saturates two cores"]
fn marked_packets_arrive_and_slow_their_senders_down() {
    // At 1 Gbit/s the queue of a busy machine is empty too often for a standing one.
    let few = "--streams 4 --only bql=on --rate 200mbit --duration 2s";
    let Some(marking) = run(&format!("{few} --qdisc fq_codel")) else {
        return;
    };
    let dropping = run(&format!("{few} --qdisc fq_codel{SPACE}noecn")).expect("it ran before");
    for tso in [true, false] {
        let (marked, dropped) = (row(&marking, true, tso), row(&dropping, true, tso));
        assert!(number(marked, "/marks") >= 10.0, "{marked}");
        assert_eq!(number(dropped, "/marks"), 0.0, "{dropped}");
        assert!(number(dropped, "/drops") >= 10.0, "{dropped}");
        // A frame whose checksum is wrong is sent again until one gets through without a mark: some
        // thirty times for each mark. A busy machine loses a few in the TAP.
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
fn a_killed_lab_leaves_no_namespace_behind() {
    if run("--only bql=on,tso=on --duration 500ms --streams 1").is_none() {
        return;
    }
    let mut child = lab("--duration 60s")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ours = namespaces_of("self");
    let made = |child: &Child| -> Vec<String> {
        let theirs = namespaces_of(&child.id().to_string());
        theirs
            .into_iter()
            .filter(|namespace| !ours.contains(namespace))
            .collect()
    };
    let grown = wait_until(|| made(&child).len() >= 2);
    let namespaces = made(&child);
    child.kill().expect("still running");
    child.wait().expect("was killed");
    assert!(
        grown,
        "the lab made {namespaces:?}, so this test sees nothing"
    );

    // A namespace lives by the processes in it, the descriptors of it, and the mounts of it.
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

/// The network namespaces that a process holds, by a thread or by a descriptor: `net:[4026531840]`.
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

/// Polls for up to 30 s: a busy machine takes its time.
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
