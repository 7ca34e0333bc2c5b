//! `taut set`.

use std::fs;

use serde_json::{Value, json};

use crate::observe_tree::Tree;
use crate::sim_command::{failed, stdout};

fn value(tree: &Tree, queue: u32, file: &str) -> String {
    let text = fs::read_to_string(tree.limits("eth0", queue).join(file)).unwrap();
    text.trim().to_owned()
}

#[test]
fn undo_command_restores_the_values() {
    let tree = Tree::new("undo");
    tree.add("eth0", 3).set("eth0", 1, "hold_time", "200");
    let place = tree.line("");
    let text = stdout(&tree.line("set eth0 limit_max 40k hold_time 500ms"));
    assert!(
        text.starts_with(
            "eth0 queue 0: limit_max max -> 40960\neth0 queue 0: hold_time 1000ms -> 500ms\n"
        ),
        "{text}"
    );
    let undo: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("undo: taut "))
        .collect();
    assert_eq!(
        undo,
        [
            format!("set eth0{place} -q 0,2 limit_max max hold_time 1000ms"),
            format!("set eth0{place} -q 1 limit_max max hold_time 200ms"),
        ]
    );
    assert_eq!(
        (value(&tree, 2, "limit_max"), value(&tree, 1, "hold_time")),
        ("40960".into(), "500".into())
    );
    undo.iter().for_each(|command| drop(stdout(command)));
    let all: Vec<String> = (0..3)
        .map(|queue| value(&tree, queue, "hold_time"))
        .collect();
    assert_eq!(all, ["1000", "200", "1000"]);
    assert_eq!(value(&tree, 1, "limit_max"), "1879048192");
}

#[test]
fn dry_run_prints_but_does_not_write() {
    let tree = Tree::new("dry");
    tree.add("eth0", 1);
    let text = stdout(&tree.line("set eth0 limit_max 3000 limit_min 0 --dry-run"));
    assert!(
        text.starts_with(
            "eth0 queue 0: limit_max max would become 3000\neth0 queue 0: limit_min is 0 already\n"
        ),
        "{text}"
    );
    assert_eq!(value(&tree, 0, "limit_max"), "1879048192");
    let text = stdout(&tree.line("set eth0 limit_max 3000 --dry-run -j"));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["dry_run"], true);
    let row = json!({
        "device": "eth0",
        "queue": 0,
        "name": "limit_max",
        "old": 1_879_048_192,
        "new": 3000,
    });
    assert_eq!(document["rows"], json!([row]));
}

#[test]
fn contradictory_values_are_rejected_before_writing() {
    let tree = Tree::new("contradict");
    tree.add("eth0", 2).set("eth0", 1, "limit_min", "9000");
    for (line, part) in [
        (
            "limit_max 8000",
            "eth0 queue 1: limit_min is 9000; allowed: at most limit_max, which is 8000",
        ),
        ("limit_min 9k limit_max 8k", "allowed: at most limit_max"),
        (
            "limit 100 limit_max 10k",
            "eth0 queue 1: limit is 100; allowed: 9000 to 10240",
        ),
        ("limit_max", "unexpected"),
        ("what 3", "allowed: limit_max"),
        ("hold_time 500", "a unit is missing"),
    ] {
        let talk = failed(&tree.line(&format!("set eth0 {line}")), 2);
        assert!(
            talk.contains(part) || part == "unexpected",
            "{line}: {talk}"
        );
    }
    assert_eq!(value(&tree, 0, "limit_max"), "1879048192");
}

/// The file of the second queue is a directory, which even root cannot write.
#[test]
fn failed_write_undoes_previous_ones() {
    let tree = Tree::new("partly");
    tree.add("eth0", 2);
    let path = tree.limits("eth0", 1).join("limit_max");
    fs::remove_file(&path).unwrap();
    // Readable but not writable.
    std::os::unix::fs::symlink("/proc/sys/kernel/ngroups_max", &path).unwrap();
    let talk = failed(&tree.line("set eth0 hold_time 7ms limit_max 60000"), 77);
    assert!(talk.contains("limit_max"), "{talk}");
    assert!(
        talk.contains("the 3 previous changes were undone"),
        "{talk}"
    );
    assert_eq!(
        (value(&tree, 0, "limit_max"), value(&tree, 0, "hold_time")),
        ("1879048192".into(), "1000".into())
    );
    assert_eq!(value(&tree, 1, "hold_time"), "1000");
}

#[test]
fn device_without_limit_is_rejected() {
    let tree = Tree::new("none");
    tree.add("eth0", 1).add_virtual("lo");
    assert!(
        failed(&tree.line("set lo limit_max 40k"), 1)
            .contains("lo has no byte limit to set: virtual")
    );
    assert!(failed(&tree.line("set eth1 limit_max 40k"), 1).contains("there are: eth0, lo"));
    assert!(failed(&tree.line("set eth0 -q 1 limit_max 40k"), 1).contains("it has 0 to 0"));
    fs::remove_file(tree.limits("eth0", 0).join("stall_thrs")).unwrap();
    let talk = failed(&tree.line("set eth0 stall_thrs 1s"), 1);
    assert!(talk.contains("eth0 queue 0 has no stall_thrs"), "{talk}");
}

#[test]
fn max_is_a_value_of_every_limit() {
    let tree = Tree::new("set-max");
    tree.add("eth0", 1).set("eth0", 0, "limit_max", "max");
    let text = stdout(&tree.line("set eth0 limit max limit_min max"));
    assert!(text.contains("limit 40000 -> max\n"), "{text}");
    assert!(text.contains("limit_min 0 -> max\n"), "{text}");
    assert_eq!(value(&tree, 0, "limit"), "1879048192");
    assert!(failed(&tree.line("set eth0 hold_time max"), 2).contains("hold_time max"));
}
