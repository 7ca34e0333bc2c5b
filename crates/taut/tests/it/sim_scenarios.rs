//! `taut sim` with the scenarios of the registry.

use std::fs;

use crate::sim_command::{Scratch, failed, read_csv, stdout, taut};
use serde_json::Value;
use taut_scenarios::registry;

/// A scenario that runs in a moment.
const QUICK: &str = "right-size";

#[test]
fn list_has_every_scenario_once() {
    let list = stdout("sim --list");
    let names: Vec<&str> = list
        .lines()
        .map(|line| line.split_whitespace().next().expect("a name"))
        .collect();
    assert_eq!(
        names
            .iter()
            .filter(|name| **name == "rr-under-load")
            .count(),
        1
    );
    for entry in registry::ALL {
        assert!(names.contains(&entry.name), "{}", entry.name);
        assert!(list.contains(&*entry.description().about), "{}", entry.name);
        let help = stdout(&format!("sim {} --help", entry.name));
        assert!(help.contains("--report"), "{}", entry.name);
    }
}

#[test]
fn built_in_scenario_equals_its_file() {
    let scratch = Scratch::new("file");
    let path = scratch.file("scenario.toml");
    let entry = registry::ALL.iter().find(|it| it.name == QUICK).unwrap();
    fs::write(&path, entry.file).unwrap();
    let named = stdout(&format!("sim {QUICK} --seed 3 -j"));
    assert_eq!(
        named,
        stdout(&format!("sim run {} --seed 3 -j", path.display()))
    );
    let document: Value = serde_json::from_str(&named).unwrap();
    assert_eq!(
        (&document["version"], &document["seed"]),
        (&2.into(), &3.into())
    );
    assert_eq!(document["scenario"], QUICK);
}

#[test]
fn table_csv_and_report_have_every_row() {
    let scratch = Scratch::new("rows");
    let path = scratch.file("out.html");
    let document: Value = serde_json::from_str(&stdout(&format!("sim {QUICK} -j"))).unwrap();
    let rows = document["rows"].as_array().unwrap().len();
    let csv = stdout(&format!("sim {QUICK} --csv --report {}", path.display()));
    assert_eq!(read_csv(&csv).len(), rows + 1);
    let table = stdout(&format!("sim {QUICK}"));
    let body = table
        .lines()
        .skip_while(|line| !line.starts_with("---"))
        .skip(1);
    assert_eq!(
        body.take_while(|line| !line.is_empty()).count(),
        rows,
        "{table}"
    );
    assert!(table.ends_with(&format!("seed 1, taut {}\n", env!("CARGO_PKG_VERSION"))));
    let html = fs::read_to_string(&path).unwrap();
    let marks = html.matches("class=\"mark ").count();
    assert_eq!(marks, document["figures"].as_array().unwrap().len());
    assert!(html.contains(&format!("taut sim {QUICK} --seed 1")));
    assert!(!html.contains("http://") && !html.contains("https://"));
}

#[test]
fn trace_is_complete_or_absent() {
    let scratch = Scratch::new("trace");
    let (file, path) = (scratch.file("short.toml"), scratch.file("out.trace"));
    let settings = "scenario = \"limit-over-time\"\nduration = \"5ms\"\n";
    fs::write(&file, settings).unwrap();
    let run = format!("sim run {} --seed 6", file.display());
    let traced = format!("{run} --trace {} --trace-row ramp-up", path.display());
    let output = taut(&traced).output().unwrap();
    assert!(output.status.success());
    let text = fs::read_to_string(&path).unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(
        talk.contains(&format!("a trace of {} bytes", text.len())),
        "{talk}"
    );
    let (head, lines) = taut_measure::trace::read(text.as_bytes()).unwrap();
    assert_eq!((head.scenario.as_str(), head.seed), ("limit-over-time", 6));
    assert!(lines.map(Result::unwrap).count() > 1_000);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout(&run));
    let talk = failed(
        &format!("{run} --trace {} --trace-row lost", path.display()),
        2,
    );
    assert!(
        talk.contains("minimal: dql; minimal: taut; minimal, first ramp-up: dql"),
        "{talk}"
    );
    let untraceable = format!("sim watermarks --trace {}", path.display());
    assert!(failed(&untraceable, 2).contains("cannot be traced"));
    assert!(failed(&format!("{run} --trace-row x"), 2).contains("--trace"));
    assert!(failed(&format!("{run} --trace /nowhere/x"), 1).contains("the trace /nowhere/x"));
    // If the trace fails, the previous file remains and the table is printed.
    let socket = scratch.file("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (line, what) in [
        (format!("{run} --trace {}", socket.display()), "socket"),
        (
            format!("{traced} --trace-max-size 20k"),
            "longer than --trace-max-size",
        ),
    ] {
        let output = taut(&line).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(!output.stdout.is_empty());
        assert!(
            String::from_utf8(output.stderr).unwrap().contains(what),
            "{line}"
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(scratch.names(), ["out.trace", "short.toml", "socket"]);
}

#[test]
fn report_depends_only_on_the_seed() {
    let scratch = Scratch::new("seed");
    let page = |name: &str| {
        let path = scratch.file(name);
        stdout(&format!("sim {QUICK} --seed 4 --report {}", path.display()));
        fs::read_to_string(path).unwrap()
    };
    assert!(page("a.html") == page("b.html"));
}

#[test]
fn bad_file_has_the_error_of_the_registry() {
    let scratch = Scratch::new("bad");
    let path = scratch.file("bad.toml");
    let unknown = "scenario = \"no-such\"\n";
    let setting = format!("scenario = \"{QUICK}\"\nno_such_setting = 1\n");
    for text in ["scenario = [", "", unknown, &setting] {
        fs::write(&path, text).unwrap();
        let talk = failed(&format!("sim run {}", path.display()), 2);
        let error = taut_scenarios::sweep::run(text, None, 1, &mut |_, _, _| ()).unwrap_err();
        assert_eq!(talk, format!("taut: {error}\n"));
    }
}

#[test]
fn invalid_command_lines_exit_with_their_code() {
    for (line, code, what) in [
        ("sim", 2, "Usage"),
        (
            "sim no-such",
            2,
            "no scenario \"no-such\"; there are: rr-under-load, ",
        ),
        ("sim --list rr-under-load", 2, "--list"),
        ("sim run", 2, "FILE"),
        ("sim run /nowhere.toml", 1, "/nowhere.toml"),
        ("sim run /dev/zero", 1, "cannot read /dev/zero"),
        ("sim right-size --seed -1", 2, "-1"),
        ("sim right-size -j --csv", 2, "cannot be used with"),
        (
            "sim right-size --report /nowhere/x.html",
            1,
            "/nowhere/x.html",
        ),
    ] {
        let talk = failed(line, code);
        assert!(talk.contains(what), "{line}: {talk}");
    }
}

#[test]
fn stderr_is_empty_without_a_terminal() {
    let output = taut(&format!("sim {QUICK}")).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
