//! Man pages, completions, and the files of contrib/.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sim_command::{Scratch, stdout};

#[test]
fn manual_has_pages_and_completions() {
    let scratch = Scratch::new("manual");
    stdout(&format!("manual {}", scratch.file("out").display()));
    let page = |name: &str| {
        let path = scratch.file(&format!("out/man1/{name}.1"));
        fs::read_to_string(path)
            .unwrap_or_else(|_| panic!("{name}"))
            .replace('\\', "")
    };
    for name in [
        "taut",
        "taut-show",
        "taut-top",
        "taut-doctor",
        "taut-where",
        "taut-set",
    ] {
        assert!(page(name).contains(".SH NAME"), "{name}");
    }
    for file in ["taut.bash", "_taut", "taut.fish"] {
        let text = fs::read_to_string(scratch.file(&format!("out/completions/{file}"))).unwrap();
        assert!(text.contains("exporter"), "{file}");
    }
}

/// Returns the names in `text` with the prefix of the metrics.
fn metrics(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c));
    words
        .filter(|word| word.starts_with("taut_queue_"))
        .collect()
}

#[test]
fn dashboard_and_alerts_use_existing_metrics() {
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let known = stdout("show --metrics");
    for file in ["taut-dashboard.json", "taut-alerts.yml"] {
        let text = fs::read_to_string(contrib.join(file)).unwrap();
        let names = metrics(&text);
        assert!(names.len() > 5, "{file}");
        for name in names {
            let sampled = name == "taut_queue_inflight_sampled_bytes_bucket";
            assert!(
                sampled || known.contains(&format!("`{name}`")),
                "{file}: {name}"
            );
        }
    }
    let text = fs::read_to_string(contrib.join("taut-dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        dashboard["panels"]
            .as_array()
            .is_some_and(|panels| panels.len() > 5)
    );
    let checked = Command::new("promtool")
        .args(["check", "rules"])
        .arg(contrib.join("taut-alerts.yml"))
        .output();
    match checked {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => eprintln!("skipped: promtool is not installed (package prometheus)"),
    }
}

/// The exposure level of the unit is at most the documented one.
#[test]
fn unit_has_the_documented_exposure_level() {
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let checked = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", "--threshold=15"])
        .arg(contrib.join("taut-exporter.service"))
        .output();
    match checked {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => eprintln!("skipped: systemd-analyze is not installed"),
    }
}
