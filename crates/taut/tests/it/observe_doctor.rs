//! `taut doctor`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::observe_tree::{Tree, put};
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
    let run = || examined(&tree.line("doctor -t 300ms"));
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
        "stopped-by",
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
            "eth0 queue 0: limit 40,000, at most 2,000 in flight, busy 100 % of 20ms\n"
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
