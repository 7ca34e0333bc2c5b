//! `taut lab ring`, shortened. Run it separately:
//! `cargo test --release -p taut --test it -- live_ring --ignored --test-threads 1`.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::live::{self, number};
use crate::send_world::allowed;

fn rows(arguments: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(["lab", "ring", "-j", "--duration", "500ms", "--repeat", "1"])
        .args(arguments.split_ascii_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {talk}", output.status);
    let document = live::document("ring", &output);
    println!("{document:#}");
    live::rows(&document).clone()
}

#[test]
#[ignore = "keeps two cores busy"]
fn depth_sets_bytes_and_limit_needs_fewer() {
    if !allowed() {
        return;
    }
    let rows = rows("--rate 100mbit --depth 64 --depth 1024 --limit dql");
    for link in ["veth, tbf", "macvlan on veth, tbf"] {
        let row = |limit: &str| {
            let found = rows
                .iter()
                .find(|row| row["link"] == link && row["limit"] == limit);
            found.unwrap_or_else(|| panic!("{link}: {limit} in {rows:?}"))
        };
        for (depth, packets) in [("64p", 64.0), ("1024p", 1_024.0)] {
            let bytes = number(row(depth), "/inflight_bytes/p50");
            // The histogram has a precision of 0.1 %.
            assert!(
                (bytes / (packets * 1_514.0) - 1.0).abs() < 0.02,
                "{}",
                row(depth)
            );
            assert!(number(row(depth), "/pps") < 8_600.0, "{}", row(depth));
        }
        assert_eq!(row("dql")["completions"], "valid");
        let (limited, deep) = (row("dql"), row("1024p"));
        let [limited, deep] = [limited, deep].map(|row| number(row, "/inflight_bytes/p50"));
        assert!(limited < deep / 2.0, "{limited} of {deep}");
    }
    let plain = rows.iter().filter(|row| row["link"] == "veth");
    for row in plain {
        assert_eq!(row["completions"], "early", "{row}");
        assert!(row["limit_p50"].is_null(), "{row}");
    }
    let polled = rows.iter().filter(|row| row["link"] == "veth, peer polls");
    assert_eq!(polled.count(), 3);
}
