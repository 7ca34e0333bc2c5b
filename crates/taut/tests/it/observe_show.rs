//! `taut show`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::{fs, thread};

use serde_json::{Value, json};
use taut_linux::publish::{Publisher, QueueInfo, QueueMetrics};

use crate::observe_tree::{Tree, put};
use crate::sim_command::{failed, stdout, taut};

fn document(line: &str) -> Value {
    serde_json::from_str(&stdout(&format!("{line} -j"))).expect("one JSON document")
}

#[test]
fn table_has_queues_and_reasons() {
    let tree = Tree::new("lines");
    tree.add("eth0", 2).add("dumb0", 1).add_virtual("lo");
    tree.set("dumb0", 0, "limit", "0");
    tree.set("dumb0", 0, "inflight", "0");
    tree.set("eth0", 1, "limit_max", "30000");
    let expected = "\
device  queue   limit  in flight  min     max  hold time  stalls  limit time  in-flight time
eth0        0  40,000      2,000    0     max         1s       0       320us            16us
eth0        1  40,000      2,000    0  30,000         1s       0       320us            16us

No working byte limit:
  dumb0  driver never reports: the limit stayed 0 while packets were sent
  lo     virtual device: no ring of its own, so no byte limit
";
    assert_eq!(stdout(&tree.line("show")), expected);
    // A named device is shown even without a limit.
    assert!(stdout(&tree.line("show dumb0")).starts_with("device  queue  limit"));
}

#[test]
fn json_has_every_metric_or_null() {
    let tree = Tree::new("json");
    tree.add("eth0", 1).add_virtual("lo");
    put(&tree.device("eth0"), "speed", "-1");
    fs::remove_file(tree.limits("eth0", 0).join("stall_cnt")).unwrap();
    let document = document(&tree.line("show"));
    assert_eq!(document["version"], 2);
    let row = &document["rows"][0];
    for (field, value) in [
        ("device", json!("eth0")),
        ("queue", json!(0)),
        ("limit", json!(40_000)),
        ("inflight", json!(2000)),
        ("limit_min", json!(0)),
        ("limit_max", json!(1_879_048_192)),
        ("hold_time_ms", json!(1000)),
        ("stall_cnt", Value::Null),
        ("limit_time_ns", Value::Null),
    ] {
        assert_eq!(row[field], value, "{field}");
        assert!(row.get(field).is_some(), "{field}");
    }
    assert_eq!(document["without"][0]["device"], "lo");
}

#[test]
fn queues_and_rate_options_apply() {
    let tree = Tree::new("chosen");
    tree.add("eth0", 256).add("eth1", 1);
    let rows = |line: &str| document(&tree.line(line))["rows"].as_array().unwrap().len();
    assert_eq!(rows("show"), 257);
    assert_eq!(rows("show eth0 -q 0-3,7"), 5);
    assert_eq!(rows("show -q 0"), 2);
    assert_eq!(rows("show eth1 eth0"), 257);
    let slow = document(&tree.line("show eth1 --rate 10mbit"));
    assert_eq!(slow["rows"][0]["limit_time_ns"], 32_000_000);
}

#[test]
fn missing_device_error_lists_devices() {
    let tree = Tree::new("missing");
    tree.add("eth0", 2);
    assert_eq!(
        failed(&tree.line("show eth1"), 1),
        "taut: no device \"eth1\"; there are: eth0\n"
    );
    assert_eq!(
        failed(&tree.line("show eth0 -q 0-9"), 1),
        "taut: eth0 has no transmit queue 9; it has 0 to 1\n"
    );
    assert!(failed(&tree.line("show ../eth0"), 1).contains("device name is \"../eth0\""));
    assert!(failed(&tree.line("show -q 3-1"), 2).contains("allowed: queues such as"));
    assert!(failed(&tree.line("show --rate 0"), 2).contains("1kbit to 1000gbit"));
    assert!(failed(&tree.line("show -w 0ms"), 2).contains("allowed: 1ms"));
    assert!(failed("show --sysfs /nowhere", 2).contains("needs a copy of /sys"));
    assert!(failed("show -n /nowhere/netns", 1).contains("/nowhere/netns"));
}

#[test]
fn unreadable_file_is_reported() {
    let tree = Tree::new("garbage");
    tree.add("eth0", 2);
    tree.set("eth0", 0, "limit", "many");
    let text = stdout(&tree.line("show"));
    assert!(text.contains("eth0        0       -      2,000"), "{text}");
    assert!(
        text.contains("eth0: cannot read limit: \"many\": expected a number"),
        "{text}"
    );
}

#[test]
fn watch_ends_with_its_reader() {
    let tree = Tree::new("watch");
    tree.add("eth0", 1);
    let mut child = taut(&tree.line("show -j -w 1ms"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["rows"][0]["inflight"], 2000);
    tree.set("eth0", 0, "inflight", "3000");
    while next()["rows"][0]["inflight"] != 3000 {}
    drop(lines);
    let left = thread::spawn(move || child.wait().expect("ends"));
    assert_eq!(left.join().unwrap().code(), Some(0));
}

#[test]
fn metrics_page_is_the_table() {
    // Read at run time: the page is not part of the crate's package.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = std::fs::read_to_string(page).expect("docs/metrics.md of the repository");
    assert_eq!(
        page,
        stdout("show --metrics"),
        "write it with `taut show --metrics`"
    );
}

#[test]
fn path_is_shown_while_it_runs() {
    let tree = Tree::new("paths");
    tree.add("eth0", 1);
    let directory = tree.device("").join("../../run");
    let show = |line: &str| {
        let mut command = taut(&tree.line(line));
        let output = command
            .env("TAUT_RUNTIME_DIR", &directory)
            .output()
            .expect("runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let publisher = Publisher::open_in(&directory, "my sender").expect("publishes");
    let info = QueueInfo {
        device: "tap0",
        queue: 3,
        limit: "32p",
        in_packets: true,
        ..QueueInfo::default()
    };
    let mut slot = publisher.add(&info).expect("slot");
    slot.publish_metrics(&QueueMetrics {
        limit: 32,
        in_flight: 30,
        starved: 5,
        ..QueueMetrics::default()
    });
    let text = show("show");
    assert!(
        text.contains("\nPaths of taut:\ndevice  queue  program "),
        "{text}"
    );
    assert!(text.contains("\ntap0        3  my sender  "), "{text}");
    assert!(text.contains("  32p     32p        30p"), "{text}");
    let document: Value = serde_json::from_str(&show("show tap0 -j")).unwrap();
    let row = &document["rows"][0];
    assert_eq!(row["source"], "taut");
    assert_eq!(
        (&row["unit"], &row["starved"]),
        (&json!("packets"), &json!(5))
    );
    assert_eq!(row["pid"], std::process::id());
    // A copy of another machine's tree has no programs of this machine.
    assert!(!stdout(&tree.line("show")).contains("tap0"));
    drop((slot, publisher));
    assert!(!show("show").contains("tap0"));
}

/// The queues of the machine that runs the tests.
#[test]
fn queues_of_this_machine_are_shown() {
    let document = document("show");
    assert_eq!(document["problems"], json!([]));
    for row in document["rows"].as_array().unwrap() {
        assert!(row["limit"].is_u64(), "{row}");
    }
}

#[test]
fn negative_bytes_in_flight_are_shown() {
    let tree = Tree::new("negative-show");
    tree.add("eth0", 1).set("eth0", 0, "inflight", "4294965782");
    let text = stdout(&tree.line("show"));
    assert!(
        text.contains("  -1,514  ") && !text.contains("34.4s"),
        "{text}"
    );
    let row = &document(&tree.line("show"))["rows"][0];
    assert_eq!(row["inflight"], -1514);
    assert_eq!(row["inflight_time_ns"], Value::Null);
}

#[test]
fn limit_has_a_state() {
    for (limit, in_flight, state) in [
        ("40000", "0", "limited"),
        ("1879048192", "0", "unlimited"),
        ("max", "2000", "unlimited"),
        ("0", "0", "none"),
        ("0", "1514", "limited"),
    ] {
        let tree = Tree::new("state");
        tree.add("eth0", 1)
            .set("eth0", 0, "limit", limit)
            .set("eth0", 0, "inflight", in_flight)
            .set("eth0", 0, "limit_max", "max");
        let document = document(&tree.line("show eth0"));
        let row = &document["rows"][0];
        assert_eq!(row["limit_state"], state, "{limit}");
        assert_eq!(row["unlimited"], i32::from(state == "unlimited"), "{limit}");
        assert_eq!(row["limit_max"], 1_879_048_192, "{limit}");
        assert_eq!(row["limit_max_state"], "unlimited", "{limit}");
        assert_eq!(document["problems"], json!([]), "{limit}");
        let text = stdout(&tree.line("show eth0"));
        assert_eq!(
            text.contains("  unlimited "),
            state == "unlimited",
            "{text}"
        );
    }
}
