//! `taut sim limit-rules`.

use std::fmt::Write;
use std::fs;

use crate::sim_command::{Scratch, failed, read_csv, stdout, taut};
use serde_json::Value;

/// 1 s of interrupts at intervals of 80 to 120 us.
fn write_pattern(path: &std::path::Path, id: &str) {
    let mut text = format!(
        "{{\"id\": \"{id}\", \"rate_bytes_per_us\": 125.0, \"warm_ns\": 200000000, \
         \"end_ns\": 1000000000}}\n"
    );
    for number in 0..12_600 {
        let gap_ns = 80_000 + number * 7_919 % 40_000;
        writeln!(text, "{gap_ns} 0").unwrap();
    }
    fs::write(path, text).unwrap();
}

fn document(arguments: &str) -> Value {
    serde_json::from_str(&stdout(arguments)).unwrap()
}

/// 1 Gbit/s and an interrupt every 100 us for 4 s, except for a pause of 20 ms at 2 s. Objects of
/// 1,250 bytes take 10 us each.
fn write_pause(path: &std::path::Path) {
    let mut text =
        String::from("{\"rate_bytes_per_us\": 125.0, \"sizes\": [1250], \"end_ns\": 4000000000}\n");
    for number in 0..39_801 {
        let gap_ns = if number == 20_000 {
            20_000_000
        } else {
            100_000
        };
        writeln!(text, "{gap_ns} 0").unwrap();
    }
    fs::write(path, text).unwrap();
}

/// 100 objects in flight cover 1 ms of the pause, so 19 ms are lost until 2.02 s. The step of 10 ms
/// that starts there reports them at its end, where the loss budget is 2.03 ms.
#[test]
fn largest_loss_is_at_the_pause() {
    let scratch = Scratch::new("pause");
    let file = scratch.file("pause.txt");
    write_pause(&file);
    let line = format!(
        "sim limit-rules --pattern {} --limit 100p -j",
        file.display()
    );
    let found = document(&line);
    let row = &found["rows"][0];
    let number = |key: &str| row[key].as_f64().unwrap();
    let expected = 19.0 / 2.03;
    let loss = number("loss_over_allowed");
    assert!((loss - expected).abs() < 0.001, "{loss}, not {expected}");
    assert_eq!(number("loss_over_allowed_at_s"), 2.03);
}

#[test]
fn files_are_compared_rule_by_rule() {
    let scratch = Scratch::new("files");
    let (one, two) = (scratch.file("one.txt"), scratch.file("two.txt"));
    write_pattern(&one, "first");
    write_pattern(&two, "second");
    let line = format!(
        "sim limit-rules --pattern {} --pattern {}",
        one.display(),
        two.display()
    );
    let found = document(&format!("{line} -j"));
    let rows = found["rows"].as_array().unwrap();
    let rules = [
        "off",
        "fixed",
        "dql",
        "dql every 200us",
        "dql every 1ms",
        "taut",
    ];
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["pattern"].as_str().unwrap(),
                row["rule"].as_str().unwrap(),
            )
        })
        .collect();
    let expected: Vec<(&str, &str)> = ["first", "second"]
        .into_iter()
        .flat_map(|pattern| rules.map(|rule| (pattern, rule)))
        .collect();
    assert_eq!(names, expected);
    for row in rows {
        for key in [
            "ratio",
            "utilisation",
            "hp_delay_us_p50",
            "hp_delay_us_p99",
            "mean_bytes",
            "p99_bytes",
            "limit",
            "learning_loss_us",
        ] {
            assert!(row[key].is_number(), "{key}: {row}");
        }
        assert!(row["utilisation"].as_f64().unwrap() <= 1.0);
    }
    let of = |rule: &str, key: &str| {
        let row = rows.iter().find(|row| row["rule"] == rule).unwrap();
        row[key].as_f64().unwrap()
    };
    assert_eq!(of("fixed", "ratio"), 1.0);
    assert!(of("fixed", "utilisation") >= 0.999);
    // dql allows two intervals of 100 us: twice the required in-flight.
    assert!(of("dql", "ratio") > 1.5);
    assert!(of("off", "mean_bytes") > 10.0 * of("dql", "mean_bytes"));
    assert_eq!(found["parameters"]["patterns"].as_array().unwrap().len(), 0);

    let csv = read_csv(&stdout(&format!("{line} --csv")));
    assert_eq!(csv.len(), rows.len() + 1);
    let report = scratch.file("out.html");
    let table = stdout(&format!("{line} --report {}", report.display()));
    assert_eq!(table.matches("  taut ").count(), 2, "{table}");
    assert!(table.ends_with(&format!("seed 1, taut {}\n", env!("CARGO_PKG_VERSION"))));
    let html = fs::read_to_string(report).unwrap();
    for part in [
        "second: required in-flight and limits",
        "class=\"line c9 solid\"",
        "--pattern",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("http://") && !html.contains("https://"));
}

#[test]
fn results_depend_only_on_the_seed() {
    let line = "sim limit-rules --only f06 --duration 300ms --warm-up 100ms -j";
    let one = stdout(&format!("{line} --seed 5"));
    assert_eq!(one, stdout(&format!("{line} --seed 5")));
    assert_ne!(one, stdout(&format!("{line} --seed 6")));
    let two = document(&format!("{line} --seeds 2"));
    let row = &two["rows"][2];
    let ends = row["ratio_ci95"].as_array().unwrap();
    let ratio = row["ratio"].as_f64().unwrap();
    assert!(
        ends[0].as_f64() < Some(ratio) && Some(ratio) < ends[1].as_f64(),
        "{row}"
    );
    assert_eq!(row["seeds"], 2);
}

#[test]
fn invalid_command_lines_exit_with_their_code() {
    let scratch = Scratch::new("rejected");
    let bad = scratch.file("bad.txt");
    fs::write(
        &bad,
        "{\"rate_bytes_per_us\": 125, \"end_ns\": 100}\n100 x\n",
    )
    .unwrap();
    let bad = format!("--pattern {}", bad.display());
    let here = format!("--pattern {}", env!("CARGO_TARGET_TMPDIR"));
    for (arguments, code, what) in [
        ("--pattern /nowhere.txt", 1, "cannot read /nowhere.txt"),
        (here.as_str(), 1, "cannot read"),
        (
            bad.as_str(),
            2,
            "bad.txt, line 2: delay_ns is \"x\"; allowed",
        ),
        ("--only p99", 2, "no pattern \"p99\"; there are: p01-jitter"),
        ("--only p01 --pattern x", 2, "cannot be used with"),
        ("--seeds 0", 2, "seeds is 0; allowed: 1 to 31"),
        ("--duration 5", 2, "5"),
        (
            "--duration 0s",
            2,
            "duration is 0ns; allowed: 100ms to 3600s",
        ),
        ("--report /nowhere/x.html", 1, "/nowhere/x.html"),
    ] {
        let talk = failed(&format!("sim limit-rules {arguments}"), code);
        assert!(talk.contains(what), "{arguments}: {talk}");
    }
}

#[test]
fn unknown_header_key_is_reported() {
    let scratch = Scratch::new("warned");
    let path = scratch.file("odd.txt");
    let text = "{\"rate_bytes_per_us\": 125, \"end_ns\": 100000, \"utilization\": 0.5}\n100000 0\n";
    fs::write(&path, text).unwrap();
    let output = taut(&format!("sim limit-rules --pattern {}", path.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.starts_with("odd\n"), "{table}");
    let note = "odd.txt, line 1: unknown key \"utilization\" is ignored";
    assert!(table.contains(note), "{table}");
}

#[test]
fn target_utilisation_defaults_to_that_of_the_trace() {
    let scratch = Scratch::new("target");
    let file = scratch.file("gaps.txt");
    write_pattern(&file, "gaps");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "{\"utilisation\": 0.9, ", 1)).unwrap();
    let limit = |rule: &str| {
        let line = format!(
            "sim limit-rules --pattern {} --limit {rule} -j",
            file.display()
        );
        document(&line)["rows"][0]["limit"].as_f64().unwrap()
    };
    for unit in ["", ":packets", ":1s"] {
        let of_pattern = limit(&format!("taut{unit}"));
        assert_eq!(of_pattern, limit(&format!("taut:90%{unit}")), "{unit}");
        let explicit = limit(&format!("taut:99.9%{unit}"));
        assert!(explicit > of_pattern, "{unit}: {explicit} and {of_pattern}");
    }
}
