//! Man pages, completions, and what is in contrib/.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sim_command::{Scratch, stdout};

#[test]
fn every_command_has_a_page_and_every_figure_and_rule_is_in_one() {
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
    let show = page("taut-show");
    let figures = stdout("show --metrics");
    let names = figures
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut number = 0;
    for name in names {
        assert!(show.contains(&format!("fB{name}fR")), "{name}");
        number += 1;
    }
    assert!(number > 20, "{figures}");
    let doctor = page("taut-doctor");
    for rule in stdout("doctor --rules")
        .lines()
        .filter_map(|line| line.split(' ').next())
    {
        assert!(doctor.contains(&format!("fB{rule}fR")), "{rule}");
    }
    for file in ["taut.bash", "_taut", "taut.fish"] {
        let text = fs::read_to_string(scratch.file(&format!("out/completions/{file}"))).unwrap();
        assert!(text.contains("exporter"), "{file}");
    }
}

/// Names in `text` that begin like those of our metrics.
fn metrics(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c));
    words
        .filter(|word| word.starts_with("taut_queue_"))
        .collect()
}

#[test]
fn dashboard_and_alerts_name_only_metrics_that_there_are() {
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
        Err(_) => eprintln!("skipped: promtool is not here (package prometheus)"),
    }
}

/// No point of exposure that systemd knows of is above what the page says.
#[test]
fn the_unit_is_as_safe_as_the_page_says() {
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let checked = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", "--threshold=15"])
        .arg(contrib.join("taut-exporter.service"))
        .output();
    match checked {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => eprintln!("skipped: systemd-analyze is not here"),
    }
}
