//! Output of `taut sim rr-under-load`.

use crate::sim_command::{Scratch, failed, read_csv, stdout, taut};
use serde_json::{Value, json};

/// Three short rows.
const SHORT: &str = "sim rr-under-load --streams 10 --duration 500ms --only tso=off";

fn document(arguments: &str) -> Value {
    serde_json::from_str(&stdout(&format!("{arguments} -j"))).expect("one JSON document")
}

fn keys(value: &Value) -> Vec<&str> {
    let fields = value.as_object().expect("an object");
    fields.keys().map(String::as_str).collect()
}

#[test]
fn no_verb_runs_the_published_experiment() {
    let output = taut("").output().expect("runs");
    assert!(output.status.success());
    let (shown, talk) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(shown.matches(" published |").count(), 4, "{shown}");
    for part in [
        "2 constants were fitted to them (coalesce, host_latency)",
        " of 8 figures differ by at most 10 % from the published ones",
        "seed 1, taut ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        talk.contains("as root:\n  taut lab rr-under-load"),
        "{talk}"
    );
    assert_eq!(shown, stdout("sim rr-under-load"));
}

#[test]
fn document_has_the_fields_of_the_lab() {
    let document = document(SHORT);
    assert_eq!(
        keys(&document),
        [
            "version",
            "scenario",
            "taut_version",
            "seed",
            "interrupted",
            "notes",
            "parameters",
            "rows",
            "figures"
        ]
    );
    assert_eq!(document["version"], 2);
    assert_eq!(document["seed"], 1);
    let row = &document["rows"][1];
    assert_eq!(
        keys(row),
        [
            "limit",
            "bql",
            "tso",
            "late_segmentation",
            "inflight_bytes",
            "backlog_packets",
            "limit_bytes_p50",
            "rr_tps",
            "rr_latency_us",
            "goodput_bps",
            "cpu_percent",
            "drops",
            "marks",
            "retransmits",
            "timer_lateness_us"
        ]
    );
    assert_eq!(keys(&row["inflight_bytes"]), ["p10", "p50", "p90", "max"]);
    let quantiles = keys(&row["rr_latency_us"]);
    assert_eq!(quantiles.len(), 9);
    let ascending: Vec<_> = quantiles
        .iter()
        .map(|key| row["rr_latency_us"][*key].as_u64().unwrap())
        .collect();
    assert!(ascending.is_sorted(), "{ascending:?}");
    assert_eq!(
        [&row["limit"], &row["bql"], &row["tso"]],
        [&Value::from("dql"), &Value::from(true), &Value::from(false)]
    );
    assert_eq!(document["parameters"]["limits"], json!(["dql", "taut"]));
}

#[test]
fn scenario_file_equals_the_command() {
    let scratch = Scratch::new("rr-file");
    let (path, page) = (scratch.file("mine.toml"), scratch.file("out.html"));
    let settings = "scenario = \"rr-under-load\"\nstreams = 10\nduration = \"500ms\"\n\
                    rows = \"tso=off\"\n";
    std::fs::write(&path, settings).unwrap();
    let file = format!("sim run {}", path.display());
    for form in ["", " -j", " --csv"] {
        assert_eq!(
            stdout(&format!("{file}{form}")),
            stdout(&format!("{SHORT}{form}"))
        );
    }
    stdout(&format!("{file} --seed 3 --report {}", page.display()));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains(&format!("taut {file} --seed 3")));
    assert!(html.contains("in the ring, limit taut"));
    for (text, what) in [
        ("streams = 10\n", "missing field `scenario`"),
        (
            "scenario = \"rr-under-load\"\nrate = 5\n",
            "line 2, column 8",
        ),
        (
            "scenario = \"rr-under-load\"\nlimits = [\"off\"]\nrows = \"limit=on\"\n",
            "limit=off",
        ),
        (
            "scenario = \"rr-under-load\"\nqdisc = \"fq\"\n",
            "qdisc is \"fq\"",
        ),
        (
            "scenario = \"rr-under-load\"\nrows = \"bql\"\n",
            "position 1",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let talk = failed(&file, 2);
        assert!(talk.contains(what), "{text}: {talk}");
    }
}

#[test]
fn csv_equals_json() {
    let document = document(SHORT);
    let lines = read_csv(&stdout(&format!("{SHORT} --csv")));
    let (header, rows) = lines.split_first().expect("a header");
    assert_eq!(rows.len(), 3);
    assert!(header.contains(&"rr_latency_us.p99".to_owned()));
    assert!(header.ends_with(&["scenario", "seed", "taut_version"].map(str::to_owned)));
    for (row, fields) in document["rows"].as_array().unwrap().iter().zip(rows) {
        assert_eq!(fields.len(), header.len());
        for (name, field) in header.iter().zip(fields) {
            let pointer = format!("/{}", name.replace('.', "/"));
            // The last columns are the origin of the row.
            let value = row.pointer(&pointer).or(document.get(name));
            let read = match field.as_str() {
                "" => Value::Null,
                text if value.is_some_and(Value::is_string) => text.into(),
                text => serde_json::from_str(text).expect("a number or a bool"),
            };
            assert_eq!(value, Some(&read), "{name}");
        }
    }
}

#[test]
fn output_depends_only_on_the_seed() {
    let scratch = Scratch::new("same-bytes");
    let run = |name: &str, seed: u32| {
        let path = scratch.file(name);
        let line = format!("{SHORT} --seed {seed} -j --report {}", path.display());
        (stdout(&line), std::fs::read_to_string(path).unwrap())
    };
    let (first, second, other) = (run("a.html", 5), run("b.html", 5), run("c.html", 6));
    assert!(first == second);
    assert!(other != first);
    assert_eq!(scratch.names(), ["a.html", "b.html", "c.html"]);
}

#[test]
fn report_is_standalone_and_has_the_table() {
    let scratch = Scratch::new("report");
    let path = scratch.file("out.html");
    let line = "sim rr-under-load --duration 500ms --only limit=on";
    let found = document(&format!("{line} --report {}", path.display()));
    let html = std::fs::read_to_string(path).unwrap();
    for outside in [
        "http://", "https://", "<script", "<link", "<img", "url(", "@import",
    ] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("taut sim rr-under-load --duration 500ms --only limit=on --seed 1"));
    assert_eq!(html.matches("<svg class=\"plot\"").count(), 3);
    let figures = found["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 4);
    for figure in figures {
        let id = figure["id"].as_str().unwrap();
        let shown = id.replace('/', "/<wbr>").replace('_', "_<wbr>");
        assert!(html.contains(&shown), "{id}");
    }
    let marks = html.matches("class=\"mark ").count();
    assert_eq!(marks, figures.len());
    for tag in ["svg", "figure", "table", "tr", "ul", "pre", "html"] {
        let opened = html.matches(&format!("<{tag}>")).count();
        let with_attributes = html.matches(&format!("<{tag} ")).count();
        let closed = html.matches(&format!("</{tag}>")).count();
        assert_eq!(opened + with_attributes, closed, "{tag}");
    }
    let latency = &found["rows"][0]["rr_latency_us"];
    assert!(
        latency["p99"].as_u64() > latency["p50"].as_u64(),
        "{latency}"
    );
    let in_ring = found["rows"][0]["inflight_bytes"]["p90"].as_u64().unwrap();
    assert!(html.replace(',', "").contains(&in_ring.to_string()));
}

#[test]
fn chart_has_rows_with_and_without_limit() {
    let scratch = Scratch::new("one-chart");
    let path = scratch.file("out.html");
    stdout(&format!("{SHORT} --report {}", path.display()));
    let html = std::fs::read_to_string(path).unwrap();
    let first = html.split("</figure>").next().unwrap();
    for label in [
        "in the ring, limit off",
        "in the ring, limit dql",
        "in the ring, limit taut",
        "the limit, dql</li>",
        "the limit, taut</li>",
    ] {
        assert!(first.contains(label), "{label}");
    }
}

#[test]
fn report_extension_selects_pictures() {
    let scratch = Scratch::new("report-forms");
    stdout(&format!(
        "{SHORT} --report {}",
        scratch.file("only.svg").display()
    ));
    let picture = std::fs::read_to_string(scratch.file("only-1.svg")).unwrap();
    assert!(picture.starts_with("<svg xmlns=") && picture.contains("in the ring, limit off"));
    assert!(!scratch.file("only.svg").exists());
}

#[test]
fn invalid_command_lines_exit_with_their_code() {
    for (line, code, what) in [
        ("sim rr-under-load --rate 1gbitt", 2, "position"),
        ("sim rr-under-load --streams 0", 2, "1..=4000"),
        ("sim rr-under-load -j --csv", 2, "cannot be used with"),
        ("sim rr-under-load --report", 2, "value is required"),
        (
            "sim rr-under-load --report /nowhere/at/all.html",
            1,
            "/nowhere/at/all.html",
        ),
        (
            "sim rr-under-load --report /",
            1,
            "cannot write the report /",
        ),
        ("sim rr-under-lode", 2, "rr-under-load"),
        ("simm", 2, "sim"),
    ] {
        let talk = failed(line, code);
        assert!(talk.contains(what), "{line}: {talk}");
    }
}

#[test]
fn unwritable_report_fails_after_the_rows() {
    let scratch = Scratch::new("unwritable");
    let path = scratch.file("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let line = format!("{SHORT} --csv --report {}", path.display());
    let output = taut(&line).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains("cannot write the report"), "{talk}");
    assert_eq!(scratch.names(), ["socket"]);
}

#[test]
fn full_stdout_fails_but_closed_stdout_does_not() {
    let run = |stdout: std::process::Stdio| taut(SHORT).stdout(stdout).output().unwrap();
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let output = run(full.into());
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8(output.stderr).unwrap().contains("stdout"));
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = run(writer.into());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
