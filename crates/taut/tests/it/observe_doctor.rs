//! `taut doctor`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::observe_tree::{Tree, numbers_of_heading, put};
use crate::sim_command::{failed, stdout, taut};

/// Returns the exit code and the document.
fn examined(line: &str) -> (i32, Value) {
    let output = taut(&format!("{line} -j")).output().expect("runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{talk}"));
    (output.status.code().expect("code"), document)
}

fn verdict<'d>(document: &'d Value, device: &str, rule: &str) -> &'d str {
    let rows = document["rows"].as_array().expect("rows");
    let row = rows
        .iter()
        .find(|it| it["device"] == device && it["rule"] == rule);
    row.unwrap_or_else(|| panic!("{device} {rule}"))["verdict"]
        .as_str()
        .expect("verdict")
}

/// Ends the threads that read it, even if an assertion fails: a scope waits for them.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls `change` repeatedly while `work` runs.
fn while_it_changes<T>(mut change: impl FnMut(u64) + Send, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stopped = StopOnDrop(&stop);
        scope.spawn(|| {
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                change(round);
                thread::sleep(Duration::from_millis(1));
            }
        });
        work()
    })
}

#[test]
fn driver_without_completions_is_bad() {
    let tree = Tree::new("never");
    tree.add("eth0", 1).add_virtual("lo");
    tree.set("eth0", 0, "limit", "0")
        .set("eth0", 0, "inflight", "0");
    let sent = |round: u64| {
        // Renamed into place: a reader never sees an incomplete file.
        let device = tree.device("eth0");
        put(
            &device,
            "statistics/next",
            &(1000 + 100 * round).to_string(),
        );
        let (next, packets) = ("statistics/next", "statistics/tx_packets");
        std::fs::rename(device.join(next), device.join(packets)).unwrap();
    };
    let run = || examined(&tree.line("doctor -t 600ms"));
    let (code, document) = while_it_changes(sent, run);
    assert_eq!(
        (code, verdict(&document, "eth0", "never-reports")),
        (3, "bad")
    );
    assert_eq!(verdict(&document, "lo", "no-limit"), "not_judged");
    let (code, document) = examined(&tree.line("doctor -t 1ms"));
    assert_eq!(
        (code, verdict(&document, "eth0", "never-reports")),
        (0, "warn")
    );
    assert_eq!(examined(&tree.line("doctor -t 1ms --strict")).0, 3);
}

#[test]
fn idle_queue_is_not_judged() {
    let tree = Tree::new("idle");
    tree.add("eth0", 2).set("eth0", 0, "inflight", "0");
    let (code, document) = examined(&tree.line("doctor eth0 -q 0 -t 20ms --strict"));
    assert_eq!(code, 0);
    for rule in [
        "limit-oversized",
        "collapsed",
        "aperiodic-completions",
        "stopped-below-limit",
    ] {
        assert_eq!(verdict(&document, "eth0", rule), "not_judged", "{rule}");
    }
}

#[test]
fn oscillating_limit_is_detected() {
    let tree = Tree::new("saw");
    tree.add("eth0", 1);
    let limits = |round: u64| {
        let text = (40_000 + round % 20 * 4_000).to_string();
        tree.set("eth0", 0, "limit", &text);
    };
    let run = || examined(&tree.line("doctor -t 800ms --strict"));
    let (code, document) = while_it_changes(limits, run);
    assert_eq!(
        (code, verdict(&document, "eth0", "aperiodic-completions")),
        (3, "warn")
    );
}

#[test]
fn bad_findings_come_first_with_advice() {
    let tree = Tree::new("text");
    tree.add("eth0", 1);
    tree.set("eth0", 0, "limit_max", "80000")
        .set("eth0", 0, "stall_cnt", "2");
    let text = stdout(&tree.line("doctor -t 20ms"));
    assert!(
        text.starts_with(
            "eth0 queue 0: limit 40,000 bytes, at most 2,000 bytes in flight, busy 100 % of 20ms\n"
        ),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with(
            "  warn        limit-max-set          limit_max 80,000 bytes (640us) has no effect"
        ),
        "{text}"
    );
    assert!(
        text.contains("do: remove it: taut set eth0 limit_max max"),
        "{text}"
    );
    assert!(text.contains("  warn        stalls "), "{text}");
    assert!(text.contains("0 bad, 2 warnings"), "{text}");
}

#[test]
fn explanations_have_threshold_and_source() {
    let rules = stdout("doctor --rules");
    assert!(rules.lines().count() >= 14, "{rules}");
    for line in rules.lines() {
        let name = line.split_whitespace().next().unwrap();
        let text = stdout(&format!("doctor --explain {name}"));
        for part in [name, "\nWhen:", "\nFrom:", "\nDo:"] {
            assert!(text.contains(part), "{text}");
        }
    }
    assert!(failed("doctor --explain what", 2).contains("there are: no-limit, "));
}

#[test]
fn removed_device_is_judged_by_its_samples() {
    let tree = Tree::new("vanish");
    tree.add("eth0", 1).add("eth1", 256);
    let (code, document) = thread::scope(|scope| {
        let run = scope.spawn(|| examined(&tree.line("doctor -t 600ms")));
        thread::sleep(Duration::from_millis(200));
        std::fs::remove_dir_all(tree.device("eth0")).unwrap();
        run.join().unwrap()
    });
    assert_eq!(code, 0);
    assert_eq!(verdict(&document, "eth1", "never-reports"), "ok");
    assert!(failed(&tree.line("doctor eth0"), 1).contains("no device \"eth0\""));
}

/// Makes a queue blocked, as after a lost completion.
fn block(tree: &Tree, queue: u32, in_flight: &str, limit: &str) {
    tree.set("eth0", queue, "limit", limit)
        .set("eth0", queue, "inflight", in_flight);
}

#[test]
fn one_dead_queue_of_128_is_found() {
    let tree = Tree::new("dead");
    tree.add("eth0", 128);
    block(&tree, 77, "6056", "4542");
    let output = taut(&tree.line("doctor -t 600ms")).output().expect("runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(3), "{text}");
    let headings = text.lines().filter(|line| line.starts_with("eth0 queue"));
    let headings: Vec<&str> = headings.collect();
    assert!(
        headings[0].starts_with("eth0 queue 77: limit 4,542"),
        "{text}"
    );
    assert!(text.contains("  bad         completions-lost "), "{text}");
    let mut numbers: Vec<u32> = headings
        .iter()
        .flat_map(|it| numbers_of_heading(it))
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..128).collect::<Vec<_>>(), "each queue once");
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn blocked_queue_without_completions_is_bad() {
    for (in_flight, limit, expected) in [
        ("6056", "4542", "bad"),
        ("4542", "4542", "bad"),
        ("1514", "0", "bad"),
        ("4541", "4542", "ok"),
        ("0", "4542", "ok"),
        ("0", "0", "ok"),
    ] {
        let tree = Tree::new("blocked");
        tree.add("eth0", 1);
        block(&tree, 0, in_flight, limit);
        let (code, document) = examined(&tree.line("doctor -t 600ms"));
        let found = verdict(&document, "eth0", "completions-lost");
        assert_eq!(found, expected, "{in_flight} of {limit}");
        assert_eq!(code, if expected == "bad" { 3 } else { 0 });
    }
}

#[test]
fn changing_bytes_in_flight_are_not_stuck() {
    let tree = Tree::new("moves");
    tree.add("eth0", 1);
    block(&tree, 0, "6056", "4542");
    let moves = |round: u64| {
        tree.set(
            "eth0",
            0,
            "inflight",
            if round.is_multiple_of(2) {
                "6056"
            } else {
                "4542"
            },
        );
    };
    let run = || examined(&tree.line("doctor -t 2s"));
    let (code, document) = while_it_changes(moves, run);
    // On a busy machine the changes might pause, which is a warning.
    assert_eq!(code, 0);
    assert_ne!(verdict(&document, "eth0", "completions-lost"), "bad");
}

#[test]
fn negative_bytes_in_flight_are_bad() {
    for in_flight in ["4294965782", "2147483648", "4294967295"] {
        let tree = Tree::new("negative");
        tree.add("eth0", 1).set("eth0", 0, "inflight", in_flight);
        let (code, document) = examined(&tree.line("doctor -t 20ms"));
        assert_eq!(
            (code, verdict(&document, "eth0", "excess-completions")),
            (3, "bad")
        );
        for row in document["rows"].as_array().expect("rows") {
            assert!(
                !row["evidence"].as_str().unwrap().contains("34.4s"),
                "{row}"
            );
        }
    }
}

#[test]
fn limit_max_of_zero_is_a_setting() {
    for in_flight in ["0", "1514"] {
        let tree = Tree::new("max-zero");
        tree.add("eth0", 2);
        for queue in 0..2 {
            block(&tree, queue, in_flight, "0");
            tree.set("eth0", queue, "limit_max", "0");
        }
        let (code, document) = examined(&tree.line("doctor -t 600ms"));
        assert_eq!(
            (code, verdict(&document, "eth0", "limit-max-set")),
            (0, "warn")
        );
        assert_eq!(verdict(&document, "eth0", "never-reports"), "not_judged");
        let rows = document["rows"].as_array().expect("rows");
        let row = rows
            .iter()
            .find(|it| it["rule"] == "limit-max-set")
            .expect("row");
        assert!(
            row["advice"]
                .as_str()
                .unwrap()
                .contains("taut set eth0 limit_max max")
        );
    }
}

/// Before Linux 6.9, every device has the files, also one without a ring.
#[test]
fn devices_without_rings_are_one_line() {
    let tree = Tree::new("ringless");
    tree.add("eth0", 1);
    for name in ["lan1", "wlan0", "veth0", "bond0"] {
        tree.add(name, 8);
        for queue in 0..8 {
            tree.set(name, queue, "limit", "0")
                .set(name, queue, "inflight", "0");
        }
    }
    for name in ["veth0", "bond0"] {
        std::fs::remove_dir_all(tree.device(name).join("device")).unwrap();
    }
    put(
        &tree.device("lan1"),
        "uevent",
        "DEVTYPE=dsa\nINTERFACE=lan1",
    );
    std::fs::create_dir_all(tree.device("lan1").join("lower_eth0")).unwrap();
    std::fs::create_dir_all(tree.device("bond0").join("lower_eth0")).unwrap();
    put(&tree.device("wlan0"), "phy80211/name", "phy0");
    let text = format!("\n{}", stdout(&tree.line("doctor -t 20ms")));
    for (device, part) in [
        (
            "lan1",
            "switch port: no ring of its own; see its conduit eth0",
        ),
        ("wlan0", "Wi-Fi: the kernel limits airtime"),
        ("veth0", "virtual device: no ring of its own"),
        ("bond0", "no ring of its own; it sends through eth0"),
    ] {
        let about = text
            .split(&format!("\n{device}\n"))
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        let lines: Vec<&str> = about.lines().take_while(|line| !line.is_empty()).collect();
        assert!(lines.len() == 1 && lines[0].contains(part), "{text}");
        assert!(lines[0].starts_with("  not judged  no-limit"), "{text}");
    }
}

#[test]
fn unreadable_files_are_a_warning() {
    let tree = Tree::new("unreadable");
    tree.add("eth0", 3).set("eth0", 1, "limit", "many");
    std::fs::remove_file(tree.limits("eth0", 2).join("inflight")).unwrap();
    let (code, document) = examined(&tree.line("doctor -t 20ms"));
    assert_eq!(
        (code, verdict(&document, "eth0", "unreadable")),
        (0, "warn")
    );
    let rows = document["rows"].as_array().expect("rows");
    assert!((0..3).all(|queue| rows.iter().any(|it| it["queue"] == queue)));
}

#[test]
fn selected_queue_is_judged_by_its_own_packets() {
    let tree = Tree::new("selected");
    tree.add("eth0", 4);
    block(&tree, 2, "6056", "4542");
    // Packets of other queues.
    let sent = |round: u64| {
        put(
            &tree.device("eth0"),
            "statistics/next",
            &(1000 + 100 * round).to_string(),
        );
        let statistics = tree.device("eth0").join("statistics");
        std::fs::rename(statistics.join("next"), statistics.join("tx_packets")).unwrap();
    };
    let run = || examined(&tree.line("doctor eth0 -q 2 -t 600ms"));
    let (code, document) = while_it_changes(sent, run);
    assert_eq!(
        (code, verdict(&document, "eth0", "completions-lost")),
        (3, "bad")
    );
}

#[test]
fn trees_without_devices_are_reported() {
    let tree = Tree::new("no-device");
    assert_eq!(stdout(&tree.line("show")), "no device\n");
    assert!(stdout(&tree.line("doctor -t 1ms")).starts_with("no device\n\n0 bad"));
    std::os::unix::fs::symlink("../../devices/eth0", tree.device("eth0")).unwrap();
    for verb in ["show", "doctor -t 1ms"] {
        assert!(failed(&tree.line(verb), 1).contains("dangling symbolic link; copy with cp -rL"));
    }
}
