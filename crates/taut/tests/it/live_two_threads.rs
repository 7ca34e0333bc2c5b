//! The halves of a queue on two threads, live: nothing lost, and no wake-up lost. Two seconds each;
//! `TAUT_SECONDS=60` for longer. Run on its own:
//! `cargo test --release -p taut --test it -- live_two_threads --ignored --test-threads 1`.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::live;

/// Runs the lab, which fails if a packet or a wake-up is lost, and gives its row; `None` where it
/// cannot run and need not.
fn run(arguments: &str) -> Option<Value> {
    let seconds = std::env::var("TAUT_SECONDS").unwrap_or_else(|_| "2".to_owned());
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["lab", "two-threads", "-j", "--duration"])
        .arg(format!("{seconds}s"))
        .args(arguments.split_ascii_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    if !live::ran(&output) {
        return None;
    }
    let row = live::document("two-threads", &output)["rows"][0].clone();
    println!("{arguments}: {row}");
    Some(row)
}

fn count(row: &Value, name: &str) -> u64 {
    row[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {row}"))
}

/// What the command checks itself, from the document, and that anything was tried at all.
fn assert_all_came_back(row: &Value) {
    let dropped = row["dropped_packets"].as_object().expect("by reason");
    let dropped: u64 = dropped.values().filter_map(Value::as_u64).sum();
    let completed = count(row, "completed_packets");
    assert_eq!(count(row, "taken_packets"), completed + dropped, "{row}");
    assert_eq!(count(row, "on_the_path_packets"), 0, "{row}");
    assert_eq!(count(row, "frames_in_use"), 0, "{row}");
    assert_eq!(count(row, "owner_wakeups_lost"), 0, "{row}");
    assert_eq!(count(row, "submitter_wakeups_lost"), 0, "{row}");
    assert!(completed > 0 && count(row, "owner_sleeps") > 0, "{row}");
}

#[test]
#[ignore = "keeps two cores busy"]
fn a_sender_and_a_completer_lose_no_wake_up_behind_a_shaper() {
    let Some(row) = run("--rate 100mbit") else {
        return;
    };
    assert_all_came_back(&row);
    // 8,326 frames a second are all of 100 Mbit/s, as the shaper counts, and its bucket is small.
    let packets_per_s = row["packets_per_s"].as_f64().expect("a rate");
    assert!(packets_per_s < 8_500.0, "the shaper shapes: {row}");
    assert!(count(&row, "limit_stops") > 0, "{row}");
}

#[test]
#[ignore = "keeps two cores busy"]
fn three_senders_and_a_completer_lose_no_wake_up_on_a_plain_veth() {
    let Some(row) = run("--senders 3 --rate none") else {
        return;
    };
    assert_all_came_back(&row);
    assert!(count(&row, "submitter_sleeps") > 0, "{row}");
}

#[test]
#[ignore = "keeps two cores busy"]
fn without_a_limit_the_full_ring_stops_the_queue() {
    let Some(row) = run("--senders 2 --ring 32 --limit off --rate 10mbit") else {
        return;
    };
    assert_all_came_back(&row);
    assert!(count(&row, "ring_stops") > 0, "{row}");
    assert_eq!(count(&row, "limit_stops"), 0, "{row}");
}
