//! Traces of live queues, and the accuracy of their replays. Run it separately:
//! `cargo test --release -p taut --test it -- live_traces --ignored --test-threads 1`.

use rustix::process::Signal;
use serde_json::Value;

use crate::live::{self, ran};
use crate::send_world::{Sending, World, allowed, shaped};
use crate::sim_command::{Scratch, stdout, taut};

/// Replays each of four live runs under the limits of the other three. Bytes in flight must be
/// within 15 % of those of the live run. The device between the TAPs is emulated and completes at
/// nominal times, so that a busy machine does not change the result. Medians, because a machine
/// that stalls for half a second empties the ring of one run. `scripts/live_replay.py` covers other
/// devices.
#[test]
#[ignore = "saturates two cores"]
fn replay_predicts_bytes_of_a_live_run() {
    let scratch = Scratch::new("live-replay");
    let trace = scratch.file("a.trace");
    let limits = "--limit dql --limit taut --limit 40k";
    let lab = format!(
        "lab rr-under-load --only tso=off --duration 1s {limits} -j --trace {}",
        trace.display()
    );
    let lab = taut(&lab).output().expect("runs");
    if !ran(&lab) {
        return;
    }
    let lab = live::document("rr-under-load", &lab);
    let live = live::rows(&lab);
    assert_eq!(live.len(), 4, "{lab}");
    let text = stdout(&format!("replay {} {limits} -j", trace.display()));
    let document: Value = serde_json::from_str(&text).expect("one JSON document");
    let rows = live::rows(&document);
    assert_eq!(rows.len(), 12, "{document}");
    for row in rows {
        let there = live.iter().find(|it| it["limit"] == row["rule"]);
        let there = there.and_then(|it| it["inflight_bytes"]["p50"].as_u64());
        close(there.expect("it was run"), row, "p50");
    }
    // Under its own limit, the trace includes the delays of the machine: the whole run agrees.
    for queue in document["parameters"]["queues"].as_array().expect("queues") {
        let own = |row: &&Value| {
            let name = row["queue"].as_str().expect("a name");
            row["rule"] == queue["limit"] && name == queue["queue"]
        };
        let there = queue["in_flight_mean_bytes"].as_u64().expect("a mean");
        if let Some(row) = rows.iter().find(own) {
            close(there, row, "mean");
        }
    }
}

/// Checks that the bytes in flight of a replayed row are within 15 % of the live ones.
fn close(there: u64, row: &Value, which: &str) {
    let here = row["in_flight_bytes"][which].as_u64().expect("bytes");
    println!(
        "{} as {}: {which} {here}, {there} live",
        row["queue"], row["rule"]
    );
    let off = there.abs_diff(here);
    assert!(off * 100 <= there * 15, "{there} live, here {row}");
}

/// While a row runs, `taut show` in another process lists its queue; afterwards it does not.
#[test]
#[ignore = "keeps two cores busy"]
fn live_queue_is_listed_while_it_sends() {
    if !allowed() {
        return;
    }
    let scratch = Scratch::new("live-listed");
    let directory = scratch.file("run");
    let show = || {
        let output = taut("show -j")
            .env("TAUT_RUNTIME_DIR", &directory)
            .output()
            .expect("runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let world = World::new(shaped(20_000_000));
    let mut command = world.command("--limit dql");
    let sending = Sending::start(command.env("TAUT_RUNTIME_DIR", &directory));
    world.until("its queue is listed", || show().contains("taut send"));
    sending.signal(Signal::INT);
    sending.end().assert_adds_up();
    assert!(!show().contains("taut send"), "queue removed");
}
